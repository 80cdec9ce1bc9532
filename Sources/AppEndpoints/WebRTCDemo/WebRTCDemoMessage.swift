import Conference
package import WebServer

/// A message of the WebRTC demo's protocol (`stasel/WebRTC-iOS` and its forks): one JSON object per frame.
///
/// The apps read binary frames only and drop what they do not know, so the server sends answers and nothing else.
package enum WebRTCDemoMessage: Sendable, Equatable {
    case offer(sdp: String)
    case candidate(String)
    /// A description of another type, which asks nothing of a server, or a message of another kind.
    case other

    private struct Kind: Decodable { var type: String }
    private struct Description: Decodable {
        struct Payload: Decodable {
            var type: String
            var sdp: String
        }
        var payload: Payload
    }
    private struct Candidate: Decodable {
        struct Payload: Decodable { var sdp: String }
        var payload: Payload
    }

    package static let types = ["SessionDescription", "IceCandidate"]

    /// - Throws: `bad_message` for what is no JSON or lacks what its type needs.
    package static func parse(_ bytes: [UInt8]) throws(Refusal) -> WebRTCDemoMessage {
        try JSONOutline.check(bytes, .message)
        do {
            switch try JSON.decode(Kind.self, from: bytes).type {
            case "SessionDescription":
                let description = try JSON.decode(Description.self, from: bytes).payload
                return description.type == "offer" ? .offer(sdp: description.sdp) : .other
            case "IceCandidate":
                return .candidate(try JSON.decode(Candidate.self, from: bytes).payload.sdp)
            default: return .other
            }
        } catch {
            throw Refusal(.badMessage, JSON.explain(error))
        }
    }

    /// The message with the server's answer.
    package static func answer(sdp: String) -> [UInt8] {
        let message: JSONValue = [
            "type": "SessionDescription", "payload": ["type": "answer", "sdp": .string(sdp)],
        ]
        return message.bytes
    }
}
