import AsyncHTTPClient
import Basics
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Threads

/// Sends requests by HTTP/1.1 or HTTP/2. It follows no redirect, and verifies certificates by the system's authorities.
package struct HTTPClientPoster: HTTPPoster {
    /// The most bytes of an answer's body that are read, and the longest time for them; nothing in it counts.
    private static let answerBytes = 16 << 10
    private static let answerTime = Duration.seconds(1)

    private let client: HTTPClient
    private let userAgent: String

    package init(userAgent: String) {
        self.userAgent = userAgent
        var configuration = HTTPClient.Configuration(
            certificateVerification: .fullVerification, redirectConfiguration: .disallow, decompression: .disabled)
        // Shorter than receivers keep idle connections, so that no request meets a connection that is being closed.
        configuration.connectionPool.idleTimeout = .seconds(3)
        // A refused connection is a request that failed; whoever sent it knows when to send it again.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    package func post(_ post: HTTPPost) async -> PostAnswer {
        var request = HTTPClientRequest(url: post.url)
        request.method = .POST
        request.headers = ["user-agent": userAgent]
        for header in post.headers { request.headers.add(name: header.name, value: header.value) }
        request.body = .bytes(post.body)
        do {
            let answer = try await client.execute(request, timeout: .nanoseconds(post.timeout.nanoseconds))
            await Self.read(answer.body)
            let retryAfter = answer.headers.first(name: "retry-after").flatMap { RetryAfter.parse($0, now: Date()) }
            return .status(Int(answer.status.code), retryAfter: retryAfter)
        } catch {
            return .failure(Self.explain(error, post.timeout))
        }
    }

    /// Reads an answer's body to its end, which leaves the connection for the next request. What is too long or too slow
    /// is cut, with its connection.
    private static func read(_ body: HTTPClientResponse.Body) async {
        await atMost(answerTime) {
            var count = 0
            do {
                for try await part in body {
                    count += part.readableBytes
                    if count > answerBytes { break }
                }
            } catch {}
        }
    }

    package func shutdown() async { try? await client.shutdown() }

    private static func explain(_ error: any Error, _ timeout: Duration) -> String {
        switch error {
        case let error as HTTPClientError where [.deadlineExceeded, .connectTimeout, .readTimeout].contains(error):
            return "no answer within \(timeout.inSeconds) s"
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            return "the receiver closed the connection without an answer"
        case let error as NIOSSLError:
            return "its certificate cannot be verified, or its TLS fails: \("\(error)".prefix(200))"
        case let error as IOError: return "cannot be reached: \(String(cString: strerror(error.errnoCode)))"
        case let error as NIOConnectionError:
            let reasons = error.connectionErrors.map { "\($0.error)" }
            return "cannot be reached: \((reasons.first ?? "\(error)").prefix(200))"
        default: return "\(String(describing: error).prefix(200))"
        }
    }
}
