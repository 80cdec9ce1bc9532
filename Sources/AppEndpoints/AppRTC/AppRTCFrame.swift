import NIOCore
import WebServer

/// A frame from the server to an AppRTC client: `{"msg": …, "error": …}`.
///
/// Both keys are always present, since the Android app reads both. `msg` is JSON inside a text. The server sends
/// `answer` and `bye` only: the iOS app crashes on a type that it does not know, and the Android app hangs up.
enum AppRTCFrame: Sendable, Equatable {
    case answer(sdp: String)
    /// The end of the call; a browser offers again after it.
    case bye
    case error(AppRTCFault)

    var buffer: ByteBuffer {
        let json: JSONValue =
            switch self {
            case .answer(let sdp): ["msg": Self.text(["type": "answer", "sdp": .string(sdp)]), "error": ""]
            case .bye: ["msg": Self.text(["type": "bye"]), "error": ""]
            case .error(let fault): ["msg": "", "error": .string(fault.text)]
            }
        return ByteBuffer(bytes: json.bytes)
    }

    private static func text(_ message: JSONValue) -> JSONValue {
        .string(String(decoding: message.bytes, as: UTF8.self))
    }
}

/// A fault in a client's use of the WebSocket. The texts are those of AppRTC's own signalling server (Collider).
package enum AppRTCFault: Error, Sendable, Equatable {
    case duplicatedRegisterRequest
    case missingIDs
    /// Another connection of this client is open.
    case duplicatedRegistration
    /// The client has no seat: it did not join, registered too late, or has left.
    case noSeat
    case notRegistered
    case missingMessage
    case unexpectedCommand
    /// Neither of these: no JSON, or a message in `msg` that the server cannot read.
    case unreadable(String)

    var text: String {
        switch self {
        case .duplicatedRegisterRequest: "Duplicated register request"
        case .missingIDs: "Invalid register request: missing 'clientid' or 'roomid'"
        case .duplicatedRegistration: "Duplicated registration"
        case .noSeat: "Max room capacity reached"
        case .notRegistered: "Client not registered"
        case .missingMessage: "Invalid send request: missing 'msg'"
        case .unexpectedCommand: "Invalid message: unexpected 'cmd'"
        case .unreadable(let why): "Invalid message: \(why)"
        }
    }

    /// Whether the connection ends. Collider only reports an unexpected command.
    var isFatal: Bool { self != .unexpectedCommand }
}
