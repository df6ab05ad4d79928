//! The SDK's sessions of the older protocol era, with a maximum and a lifetime that outlasts the
//! longest call. The newer era has no sessions.

use std::{fmt, time::Duration};

use futures_core::Stream;
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        WorkerTransport,
        streamable_http_server::{
            SessionManager,
            session::{
                ServerSseMessage, SessionId,
                local::{LocalSessionManager, LocalSessionManagerError, LocalSessionWorker},
            },
        },
    },
};

use crate::time_limits::TIME_LIMIT_SECONDS_MAX;

const SESSIONS_MAX: usize = 128;
/// A call without progress is silent, and a silent session must not end under it.
const SESSION_IDLE_TIME_MAX: Duration = Duration::from_secs(TIME_LIMIT_SECONDS_MAX + 60);

/// Sessions, but not without end.
pub(super) struct BoundedSessions(LocalSessionManager);

impl Default for BoundedSessions {
    fn default() -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE_TIME_MAX);
        Self(sessions)
    }
}

/// Why a session cannot be had.
#[derive(Debug)]
pub(super) enum SessionFault {
    Full,
    Sdk(LocalSessionManagerError),
}

impl fmt::Display for SessionFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(formatter, "there are {SESSIONS_MAX} sessions already; end one"),
            Self::Sdk(fault) => fault.fmt(formatter),
        }
    }
}

impl std::error::Error for SessionFault {}

impl From<LocalSessionManagerError> for SessionFault {
    fn from(fault: LocalSessionManagerError) -> Self {
        Self::Sdk(fault)
    }
}

impl SessionManager for BoundedSessions {
    type Error = SessionFault;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionFault> {
        if self.0.sessions.read().await.len() >= SESSIONS_MAX {
            return Err(SessionFault::Full);
        }
        Ok(self.0.create_session().await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionFault> {
        Ok(self.0.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionFault> {
        Ok(self.0.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionFault> {
        Ok(self.0.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        Ok(self.0.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionFault> {
        Ok(self.0.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        Ok(self.0.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        Ok(self.0.resume(id, last_event_id).await?)
    }
}
