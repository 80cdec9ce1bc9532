import AsyncHTTPClient
import Basics
import Cluster
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import WebServer

/// Sends a client's request to the node that answers it, and the answer back, both as streams: what is in memory of a
/// body is bounded by the connections' buffers.
struct RequestForwarder: Sendable {
    let front: ClusterFront
    private var asked: RouteRequest
    /// Whether the body can be sent again.
    private let isHeld: Bool

    /// Reads a small body, so that another node can get it where the first one turns out not to be the owner.
    ///
    /// - Throws: 413 for a body that is longer than it says.
    init(_ asked: RouteRequest, _ front: ClusterFront) async throws {
        self.front = front
        var asked = asked
        let length = asked.headers[.contentLength].flatMap { Int($0) }
        let hasBody = length != nil || asked.headers[.transferEncoding] != nil
        if !hasBody {
            asked.request.body = HummingbirdCore.RequestBody(buffer: ByteBuffer())
            isHeld = true
        } else if let length, length <= Self.heldBytes {
            do {
                asked.request.body = HummingbirdCore.RequestBody(
                    buffer: try await asked.request.body.collect(upTo: Self.heldBytes))
            } catch is NIOTooManyBytesError {
                throw APIError(.tooLarge, "the body may have at most \(Self.heldBytes) bytes")
            }
            isHeld = true
        } else {
            isHeld = false
        }
        self.asked = asked
    }

    /// The largest body that is read before it is sent. An offer is smaller.
    static let heldBytes = 65_536

    /// The request for a handler of this node.
    var local: RouteRequest { asked }

    /// Tries one node.
    ///
    /// - Parameters:
    ///   - owner: the room's, as far as the request is for a room.
    ///   - limit: the time until the answer's head; nil: the usual one.
    func attempt(
        _ node: NodeRecord, owner: RoomOwner?, within limit: Duration? = nil
    ) async -> ClusterFront.Attempt<Response> {
        let head = asked.request.head
        var request = front.request(
            to: node, asked.request.uri.string, method: head.method, for: asked, owner: owner,
            passes: { NodeHeaders.passes($0.rawName) })
        if let length = head.headerFields[.contentLength].flatMap({ Int64($0) }) {
            request.body = .stream(asked.request.body, length: .known(length))
        } else if head.headerFields[.transferEncoding] != nil {
            request.body = .stream(asked.request.body, length: .unknown)
        }
        let outcome = await front.peers.send(request, to: node, within: limit)
        switch outcome {
        case .refused:
            front.metrics.count(.http, .refused)
            return .refused
        case .gone:
            front.metrics.count(.http, .unanswered)
            return isHeld ? .gone : .failed(Self.silent)
        case .unanswered:
            front.metrics.count(.http, .unanswered)
            return .failed(Self.silent)
        case .invalidAnswer(let why):
            front.metrics.count(.http, .invalidAnswer)
            front.logIncompatible(node, why)
            return isHeld ? .incompatible(Self.silent) : .failed(Self.silent)
        case .answer(let answer):
            if answer.status.code == 421, answer.headers.contains(name: NodeHeaders.owner) {
                front.metrics.count(.http, .misdirected)
                return isHeld ? .misdirected : .failed(Self.again)
            }
            if answer.status.code == 503, answer.headers.contains(name: NodeHeaders.full) {
                front.metrics.count(.http, .full)
                return isHeld ? .full : .failed(Refusal(ClusterError.full))
            }
            front.metrics.count(.http, .done)
            return .done(response(answer, isHead: head.method == .head))
        }
    }

    private static let silent = Refusal(
        .overloaded, "the room's node does not answer", retryAfter: .seconds(1))
    private static let again = Refusal(.overloaded, "the room has moved: send it again", retryAfter: .seconds(1))

    private func response(_ answer: HTTPClientResponse, isHead: Bool) -> Response {
        var headers = HTTPFields()
        for header in answer.headers where NodeHeaders.returns(header.name) {
            if let name = HTTPField.Name(header.name) { headers.append(HTTPField(name: name, value: header.value)) }
        }
        let status = HTTPResponse.Status(code: Int(answer.status.code), reasonPhrase: answer.status.reasonPhrase)
        let length = headers[.contentLength].flatMap { Int($0) }
        if isHead || length == 0 || [204, 304].contains(status.code) {
            if status.code == 204 { headers[.contentLength] = nil }
            return Response(status: status, headers: headers, body: ResponseBody())
        }
        let body = answer.body
        return Response(
            status: status, headers: headers,
            body: ResponseBody(contentLength: length) { writer in
                for try await part in body { try await writer.write(part) }
                try await writer.finish(nil)
            })
    }
}
