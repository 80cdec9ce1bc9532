/// Which side of the DTLS handshake an end plays (RFC 5763 §5): the client speaks first.
package enum DTLSRole: Hashable, Sendable {
    /// `a=setup:active`.
    case client
    /// `a=setup:passive`.
    case server
}
