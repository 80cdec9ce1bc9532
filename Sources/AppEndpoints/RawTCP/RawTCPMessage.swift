import Conference
import WebServer

/// A client's message.
package enum RawTCPMessage: Sendable, Equatable {
    case login(Login)
    case heartbeat
    /// An SDP, which the client makes only as an answer.
    case answer(sdp: String)
    case candidate(String)
    /// A message that asks nothing of a server: an offer, or a type that other servers know.
    case other

    package struct Login: Sendable, Equatable {
        /// The client's id of an earlier connection; 0 at first.
        var source = 0
        /// Members that the published app does not send, for apps that were adapted.
        var room: String?
        var name: String?
        var token: String?
    }

    private struct Envelope: Decodable {
        var type: String
        var source: Int?
    }
    private struct Detail<Value: Decodable>: Decodable {
        var detail_info: Value
    }
    private struct LoginBody: Decodable {
        struct Detail: Decodable {
            var room: String?
            var name: String?
            var token: String?
        }
        var detail_info: Detail?
    }
    private struct Description: Decodable {
        struct Inner: Decodable {
            var sdp: String
            var type: String
        }
        var sdp: Inner
    }
    private struct Candidate: Decodable {
        struct Inner: Decodable { var candidate: String }
        var icecandidate: Inner
    }

    package static let types = ["login_req", "heartbeat_req", "sdp", "icecandidate"]

    /// - Throws: `json` if the text is no JSON, or lacks what its type needs.
    package static func parse(_ json: [UInt8]) throws(RawTCPFault) -> RawTCPMessage {
        do {
            try JSONOutline.check(json, .message)
            let envelope = try JSON.decode(Envelope.self, from: json)
            switch envelope.type {
            case "login_req":
                let detail = try JSON.decode(LoginBody.self, from: json).detail_info
                return .login(
                    Login(
                        source: envelope.source ?? 0, room: detail?.room, name: detail?.name, token: detail?.token))
            case "heartbeat_req": return .heartbeat
            case "sdp":
                let description = try JSON.decode(Detail<Description>.self, from: json).detail_info.sdp
                return description.type == "answer" ? .answer(sdp: description.sdp) : .other
            case "icecandidate":
                return .candidate(
                    try JSON.decode(Detail<Candidate>.self, from: json).detail_info.icecandidate.candidate)
            default: return .other
            }
        } catch {
            throw .json
        }
    }
}

/// A message of the server, which plays the one other peer (`serverID`).
enum RawTCPReply: Sendable, Equatable {
    case loggedIn(peer: Int)
    case heartbeat
    case offer(sdp: String)
    /// The last message before the server ends the connection. The app logs it.
    case over(reason: String)

    /// The id of the server's peer.
    static let serverID = 1
    /// Ids of clients fit into the 32 bits that some of their parsers have.
    static let clientIDs = 2...Int(Int32.max)

    /// - Parameter client: the receiver's id; 0 where it has none.
    func json(to client: Int) -> [UInt8] {
        let (type, detail): (String, JSONValue) =
            switch self {
            case .loggedIn(let peer):
                (
                    "login_resp",
                    [
                        "peer_id": .integer(peer),
                        "peer_list": [["peer_id": .integer(Self.serverID), "device": "mcu"]],
                    ]
                )
            case .heartbeat: ("heartbeat_resp", ["": ""])
            case .offer(let sdp): ("sdp", ["sdp": ["sdp": .string(sdp), "type": "offer"]])
            case .over(let reason):
                ("peer_disconnected_notify", ["peer_id": .integer(Self.serverID), "reason": .string(reason)])
            }
        let envelope: JSONValue = [
            "type": .string(type), "source": .integer(Self.serverID), "destination": .integer(client), "status": 0,
            "detail_info": detail,
        ]
        return envelope.bytes
    }
}
