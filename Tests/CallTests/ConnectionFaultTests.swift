import Glibc
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import Call

@Suite("Why a server cannot be reached")
struct ConnectionFaultTests {
    private static func words(_ error: any Error, isSecure: Bool = false) -> String {
        ConnectionFault(error, host: "meet.example", port: 8080, isSecure: isSecure).description
    }

    @Test(
        "an error of the system is a sentence that says what to change",
        arguments: [
            (ECONNREFUSED, "nothing listens at meet.example:8080: start the server, or name its own address and port"),
            (ETIMEDOUT, "meet.example:8080 does not answer: check the address, and that no firewall blocks TCP to it"),
            (ENETUNREACH, "there is no way to meet.example:8080: check the address and this machine's network"),
            (EPERM, "meet.example:8080 cannot be reached: Operation not permitted"),
        ])
    func system(code: Int32, words: String) {
        #expect(Self.words(IOError(errnoCode: code, reason: "connect")) == words)
    }

    @Test("what the library says of an error is in no sentence")
    func unknown() {
        struct Odd: Error { var target = "dump" }
        #expect(Self.words(ChannelError.connectTimeout(.seconds(10))).contains("does not answer: check the address"))
        #expect(
            Self.words(SocketAddressError.failedToParseIPString("x"))
                == "there is no host meet.example: check its spelling")
        for isSecure in [false, true] {
            let words = Self.words(Odd(), isSecure: isSecure)
            #expect(words.hasPrefix("meet.example:8080 does not answer as a Tessera server: check address and port"))
            #expect(words.contains("https://") != isSecure)
            #expect(!words.contains("Odd") && !words.contains("dump"))
        }
        #expect(!Self.words(NIOSSLError.handshakeFailed(.syscallError), isSecure: true).contains("syscall"))
        #expect(
            Self.words(NIOSSLExtraError.failedToValidateHostname, isSecure: true).contains("is not for meet.example"))
    }

    @Test("a port that nobody listens on")
    func refused() async throws {
        let port = LoopbackSocket.freePorts(1)[0]
        let address = try SignallingAddress("http://127.0.0.1:\(port)")
        let fault = await #expect(throws: ConnectionFault.self) {
            try await SignallingClient.withConnection(to: address, decode: SignallingClient.Message.init(json:)) {
                _, _ in
            }
        }
        #expect(
            fault?.description
                == "nothing listens at 127.0.0.1:\(port): start the server, or name its own address and port")
    }
}
