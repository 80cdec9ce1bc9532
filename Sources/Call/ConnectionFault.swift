import Basics
import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// Why a server cannot be reached, as a sentence that says what to change. What the libraries say of their errors is for
/// programmers.
package struct ConnectionFault: Error, CustomStringConvertible {
    package var description: String

    /// - Parameters:
    ///   - error: of NIO, or of its TLS.
    ///   - host: a name, or an address without brackets.
    ///   - isSecure: whether TLS was spoken.
    package init(_ error: any Error, host: String, port: Int, isSecure: Bool) {
        let place = UInt16(exactly: port).map { Endpoint(host: host, port: $0).description } ?? host
        // Of several addresses the last one that was tried says as much as the others.
        var cause = error
        if let failure = error as? NIOConnectionError {
            cause = failure.connectionErrors.last?.error ?? failure.dnsAError ?? failure.dnsAAAAError ?? error
        }
        description =
            switch cause {
            case let cause as IOError: Self.words(cause.errnoCode, place)
            case is SocketAddressError, is SocketAddressError.UnknownHost:
                "there is no host \(host): check its spelling"
            case ChannelError.connectTimeout: Self.words(ETIMEDOUT, place)
            case is NIOSSLError where !isSecure: "\(place) cannot be reached"
            case let cause as NIOSSLError: Self.words(cause, host, place)
            case is NIOSSLExtraError: "the certificate of \(place) is not for \(host): use a name that it has"
            // An HTTP client sent its request to a server that waits for a handshake, and closes.
            case _ where !isSecure:
                "\(place) does not answer as a Tessera server: check address and port, or write https:// where it has TLS"
            default: "\(place) does not answer as a Tessera server: check address and port"
            }
    }

    /// - Parameter error: what ended a connection that was made.
    package init(lost error: any Error, host: String, port: Int) {
        let place = UInt16(exactly: port).map { Endpoint(host: host, port: $0).description } ?? host
        description = Self.words((error as? IOError)?.errnoCode ?? ECONNRESET, place)
    }

    private static func words(_ code: Int32, _ place: String) -> String {
        switch code {
        case ECONNREFUSED: "nothing listens at \(place): start the server, or name its own address and port"
        case ETIMEDOUT: "\(place) does not answer: check the address, and that no firewall blocks TCP to it"
        case ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL:
            "there is no way to \(place): check the address and this machine's network"
        case ECONNRESET, EPIPE: "\(place) has cut the connection"
        case EMFILE, ENFILE: "this machine has no more descriptors for connections: raise the limit (ulimit -n)"
        default: "\(place) cannot be reached: \(String(cString: strerror(code)))"
        }
    }

    private static func words(_ error: NIOSSLError, _ host: String, _ place: String) -> String {
        // The reasons of BoringSSL have names in its text only.
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return "this machine does not trust the certificate of \(place), which may be a self-signed one: "
                + "give the server a certificate of an authority, or ask it from its own machine as localhost"
        }
        if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST") {
            return "\(place) speaks no TLS: write http:// instead of https://"
        }
        if error == .unableToValidateCertificate || error == .noCertificateToValidate {
            return "the certificate of \(place) is not for \(host): use a name that it has"
        }
        return "\(place) does not finish the TLS handshake: check address and port"
    }
}
