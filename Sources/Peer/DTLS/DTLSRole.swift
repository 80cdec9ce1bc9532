/// The role of an endpoint in the DTLS handshake (RFC 5763 §5): the client begins.
package enum DTLSRole: Hashable, Sendable {
    /// `a=setup:active`.
    case client
    /// `a=setup:passive`.
    case server
}
