//! HTTP/1.1 requests and responses, for a client and for a server.
