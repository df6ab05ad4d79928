// The official TypeScript SDK clients, driven by JSON lines: SDK 1 for the revisions with sessions, SDK 2
// for 2026-07-28. The first line says how to connect; each further line is one thing to do, and gets one
// line of JSON back. What is right and wrong is decided by the caller.
//
//     node driver.mjs FOLDER-WITH-node_modules

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(`${process.argv[2]}/`);
const CLIENT = { name: 'typescript-driver', version: '1' };
const PATIENCE_MS = 60_000;

// What servers said without being asked, and who waits for it.
const heard = [];
const listeners = new Set();

function note(method, params) {
  heard.push({ method, params });
  for (const listener of listeners) listener();
}

// What a server may ask of us, with our answers.
function answers(elicit) {
  return {
    'sampling/createMessage': () => ({
      model: 'driver', role: 'assistant', content: { type: 'text', text: 'said by the client' },
    }),
    'elicitation/create': () => ({ action: 'accept', content: elicit }),
    'roots/list': () => ({ roots: [{ uri: 'file:///driver', name: 'driver' }] }),
  };
}

function capabilities() {
  return { sampling: {}, elicitation: {}, roots: {} };
}

function legacy(connection) {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const types = require('@modelcontextprotocol/sdk/types.js');
  const client = new Client(CLIENT, { capabilities: capabilities() });
  const schemas = {
    'sampling/createMessage': types.CreateMessageRequestSchema,
    'elicitation/create': types.ElicitRequestSchema,
    'roots/list': types.ListRootsRequestSchema,
  };
  for (const [method, answer] of Object.entries(answers(connection.elicit))) {
    client.setRequestHandler(schemas[method], ({ params }) => (note(method, params), answer()));
  }
  client.fallbackNotificationHandler = async ({ method, params }) => note(method, params);
  const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
  return {
    client,
    transport: transport(connection, StreamableHTTPClientTransport, StdioClientTransport),
    call: (params, options) => client.callTool(params, undefined, options),
  };
}

function modern(connection) {
  const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
  const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
  const client = new Client(CLIENT, {
    capabilities: capabilities(),
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  for (const [method, answer] of Object.entries(answers(connection.elicit))) {
    client.setRequestHandler(method, ({ params }) => (note(method, params), answer()));
  }
  client.fallbackNotificationHandler = async ({ method, params }) => note(method, params);
  return {
    client,
    transport: transport(connection, StreamableHTTPClientTransport, StdioClientTransport),
    call: (params, options) => client.callTool(params, options),
  };
}

function transport(connection, Http, Stdio) {
  if (connection.url) {
    return new Http(new URL(connection.url), { requestInit: { headers: connection.headers } });
  }
  const [command, ...args] = connection.command;
  return new Stdio({ command, args, env: connection.env, cwd: connection.cwd });
}

async function call(peer, { name, arguments: given, progress, cancel }) {
  const beats = [];
  const abort = new AbortController();
  const onprogress = (beat) => {
    beats.push(beat);
    if (cancel) abort.abort('the driver gave up');
  };
  const options = { signal: abort.signal, timeout: PATIENCE_MS };
  if (progress || cancel) options.onprogress = onprogress;
  const outcome = await attempt(() => peer.call({ name, arguments: given }, options));
  return { ...(abort.signal.aborted ? { cancelled: true } : outcome), beats };
}

async function attempt(work) {
  try {
    return { result: await work() };
  } catch (error) {
    return { error: { code: error.code, message: error.message, data: error.data } };
  }
}

// Waits until the server has said this; what it said is then forgotten.
function hear({ method }) {
  return new Promise((resolve) => {
    const late = setTimeout(() => finish({ error: { message: `${method} did not come` } }), PATIENCE_MS);
    const look = () => {
      const at = heard.findIndex((message) => message.method === method);
      if (at >= 0) finish({ result: heard.splice(at, 1)[0].params ?? null });
    };
    const finish = (outcome) => {
      clearTimeout(late);
      listeners.delete(look);
      resolve(outcome);
    };
    listeners.add(look);
    look();
  });
}

let subscription;

const THINGS = {
  tools: (peer) => attempt(() => peer.client.listTools(undefined, { cacheMode: 'bypass' })),
  call,
  resources: (peer) => attempt(() => peer.client.listResources(undefined, { cacheMode: 'bypass' })),
  templates: (peer) => attempt(() => peer.client.listResourceTemplates(undefined, { cacheMode: 'bypass' })),
  read: (peer, { uri }) => attempt(() => peer.client.readResource({ uri }, { cacheMode: 'bypass' })),
  prompts: (peer) => attempt(() => peer.client.listPrompts(undefined, { cacheMode: 'bypass' })),
  prompt: (peer, { name, arguments: given }) =>
    attempt(() => peer.client.getPrompt({ name, arguments: given })),
  complete: (peer, { ref, argument }) => attempt(() => peer.client.complete({ ref, argument })),
  subscribe: (peer, { uri }) => attempt(() => peer.client.subscribeResource({ uri })),
  listen: (peer, { filter }) =>
    attempt(async () => {
      subscription = await peer.client.listen(filter);
      return subscription.honoredFilter;
    }),
  unlisten: () =>
    attempt(async () => {
      await subscription.close();
      return await subscription.closed;
    }),
  hear: (_, wanted) => hear(wanted),
};

async function connect(connection) {
  const peer = (connection.era === 'legacy' ? legacy : modern)(connection);
  await peer.client.connect(peer.transport);
  return peer;
}

function hello({ client, transport: way }) {
  const version = way.protocolVersion ?? client.getNegotiatedProtocolVersion?.();
  return { result: { version, server: client.getServerVersion()?.name, session: way.sessionId ?? null } };
}

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

let peer;
for await (const line of createInterface({ input: process.stdin })) {
  const wanted = JSON.parse(line);
  if (wanted.do === 'close') {
    if (wanted.end && peer.transport.terminateSession) await peer.transport.terminateSession();
    await peer.client.close();
    say({ result: 'closed' });
    break;
  }
  if (wanted.do === 'connect') {
    say(await attempt(async () => ((peer = await connect(wanted)), hello(peer).result)));
  } else {
    say(await THINGS[wanted.do](peer, wanted));
  }
}
process.exit(0);
