// Stands between the suite, which cannot send a token, and the gateway, which answers nobody without one: adds
// `Authorization` to each request and passes everything else as it is, `Host` and `Origin` too.
//
//     TOKEN=… node relay.mjs http://127.0.0.1:8080/mcp/fixture     prints its own address

import { createServer, request as ask } from "node:http";

const target = new URL(process.argv[2]);

const server = createServer((request, response) => {
  const headers = [...request.rawHeaders, "authorization", `Bearer ${process.env.TOKEN}`];
  const { hostname, port, pathname: path } = target;
  const onward = ask({ hostname, port, path, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.rawHeaders);
    response.flushHeaders();
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  // Who goes away here goes away there.
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
