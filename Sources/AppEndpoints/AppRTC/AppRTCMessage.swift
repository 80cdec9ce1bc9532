import Admission
import Basics
package import WebServer

/// A signalling message of an AppRTC client: the body of `POST /message`, and the text in `msg` on the WebSocket.
///
/// Source: the AppRTC web app and its iOS and Android apps.
package enum AppRTCMessage: Sendable, Equatable {
    case offer(sdp: String)
    /// The line of a candidate, `candidate:…`.
    case candidate(String)
    case bye
    /// A message that asks nothing of the server: removed candidates (`remove-candidates`), an answer (the server never
    /// offers), and types of later versions.
    case other

    /// A longer line is no candidate (RFC 8839 §5.1).
    static let maxCandidateBytes = 2048

    private struct Description: Decodable { var sdp: String }
    private struct Candidate: Decodable { var candidate: String }

    /// - Parameter sdpLimit: `limits.sdpBytes`.
    /// - Throws: `bad_message` or `bad_sdp` with a sentence about the fault.
    package init(_ bytes: [UInt8], sdpLimit: Int) throws(Refusal) {
        let type = try JSONOutline(bytes, .message).type
        do {
            switch type {
            case "offer":
                let sdp = try JSON.decode(Description.self, from: bytes).sdp
                guard sdp.utf8.count <= sdpLimit else {
                    throw Refusal(.badSDP, "sdp: at most \(sdpLimit) bytes (limits.sdpBytes)")
                }
                self = .offer(sdp: sdp)
            case "candidate":
                let line = try JSON.decode(Candidate.self, from: bytes).candidate
                guard line.utf8.count <= Self.maxCandidateBytes else {
                    throw Refusal(.badMessage, "candidate: too long")
                }
                self = .candidate(line)
            default:
                let value = try JSON.decode(JSONValue.self, from: bytes)
                guard case .string(let type)? = value["type"] else { throw Refusal(.badMessage, "type is missing") }
                self = type == "bye" ? .bye : .other
            }
        } catch let error as Refusal {
            throw error
        } catch {
            throw Refusal(.badMessage, JSON.explain(error))
        }
    }
}
