import Admission
import WebServer

/// The parameters of a call as AppRTC's room server gives them: the answers to `GET /params` and `POST /join`.
///
/// Many values are JSON inside texts, and the truth values are texts: the web app compares `is_initiator` with the text
/// "true". Extra members are harmless, missing ones are not.
struct AppRTCParameters: Sendable, Equatable {
    /// The addresses that clients use next.
    struct Addresses: Sendable, Equatable {
        /// `wss://meet.example:443/ws`
        var webSocket: String
        /// `https://meet.example:443/collider`; clients append `/ROOM/CLIENT`.
        var post: String
        /// `https://meet.example:443/v1alpha/iceconfig?key=KEY`
        var iceServers: String
    }

    /// The switches of the room server's query that concern a conference; others are ignored, as unknown ones are.
    struct Switches: Sendable, Equatable {
        /// `it=relay`: the client uses TURN only.
        var relaysOnly = false
        /// `tt=udp`, `tt=tcp`: the transport of the TURN servers that the client uses; empty: any.
        var turnTransport = ""
        /// `audio=false`
        var hasAudio = true
        /// `video=false`
        var hasVideo = true
    }

    /// The members for one client.
    struct Client: Sendable, Equatable {
        var id: String
        var room: String
        /// The page of the room.
        var link: String
    }

    var addresses: Addresses
    var switches = Switches()

    /// The answer to `GET /params`.
    var json: JSONValue {
        [
            "wss_url": .string(addresses.webSocket), "wss_post_url": .string(addresses.post),
            "ice_server_url": .string(addresses.iceServers),
            "ice_server_transports": .string(switches.turnTransport), "pc_config": Self.text(connection),
            "pc_constraints": Self.text(["optional": []]), "offer_options": Self.text([:]),
            "media_constraints": Self.text(["audio": .bool(switches.hasAudio), "video": .bool(switches.hasVideo)]),
            "error_messages": [], "warning_messages": [], "is_loopback": "false", "header_message": "",
            "include_loopback_js": "", "bypass_join_confirmation": "false", "version_info": "null",
        ]
    }

    /// RTCConfiguration. The Android app ignores user names in `iceServers`, and the web app asks `ice_server_url` only
    /// if the list is empty.
    private var connection: JSONValue {
        let config: JSONValue = ["iceServers": [], "bundlePolicy": "max-bundle", "rtcpMuxPolicy": "require"]
        return switches.relaysOnly ? config.with("iceTransportPolicy", "relay") : config
    }

    /// The answer to a join. Every client is the initiator, since the server answers offers and never makes one.
    func joined(_ client: Client) -> JSONValue {
        [
            "result": "SUCCESS",
            "params": .object(
                [
                    "room_id": .string(client.room), "client_id": .string(client.id), "is_initiator": "true",
                    "room_link": .string(client.link), "messages": [],
                ], where: members),
        ]
    }

    private var members: [String: JSONValue?] {
        if case .object(let members) = json { members } else { [:] }
    }

    private static func text(_ value: JSONValue) -> JSONValue {
        .string(String(decoding: value.bytes, as: UTF8.self))
    }
}

/// The `result` of an answer of AppRTC's room server. The status is always 200: the web and Android apps take any other
/// for a broken server.
enum AppRTCResult: String, Sendable {
    case success = "SUCCESS"
    case full = "FULL"
    case unknownClient = "UNKNOWN_CLIENT"
    case error = "ERROR"

    var json: JSONValue { ["result": .string(rawValue)] }

    /// The result of a refused join. The apps have words for a full room only, so each refusal that another time may
    /// lift is a full room for them.
    init(refusing refusal: Refusal) {
        self =
            switch refusal.code {
            case .roomFull, .roomLocked, .overloaded, .draining: .full
            default: .error
            }
    }

    /// The answer to a refused join. The iOS app reads `params.messages` whatever the result is.
    static func refused(_ refusal: Refusal) -> JSONValue {
        let result = AppRTCResult(refusing: refusal)
        let params: JSONValue =
            result == .full
            ? ["messages": []] : ["messages": [], "error_messages": [.string(refusal.message)]]
        return result.json.with("params", params)
    }
}
