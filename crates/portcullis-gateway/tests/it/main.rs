//! The gateway over real sockets, with a server of our own behind it.
