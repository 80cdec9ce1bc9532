import WebServer

/// A frame from an AppRTC client to the server, on the WebSocket.
package enum AppRTCCommand: Sendable, Equatable {
    /// `{"cmd": "register", "roomid": …, "clientid": …}`
    case register(room: String, client: String)
    /// `{"cmd": "send", "msg": …}`, with a message as JSON text.
    case send(String)

    private struct Members: Decodable {
        var cmd: String?
        var roomid: String?
        var clientid: String?
        var msg: String?
    }

    /// - Parameter isRegistered: the connection has registered already.
    package init(_ bytes: [UInt8], isRegistered: Bool) throws(AppRTCFault) {
        let members: Members
        do {
            try JSONOutline.check(bytes, .message)
            members = try JSON.decode(Members.self, from: bytes)
        } catch let error as Refusal {
            throw .unreadable(error.message)
        } catch {
            throw .unreadable(JSON.explain(error))
        }
        switch members.cmd {
        case "register":
            if isRegistered { throw .duplicatedRegisterRequest }
            guard let room = members.roomid, let client = members.clientid, !room.isEmpty, !client.isEmpty else {
                throw .missingIDs
            }
            self = .register(room: room, client: client)
        case "send":
            guard isRegistered else { throw .notRegistered }
            guard let message = members.msg, !message.isEmpty else { throw .missingMessage }
            self = .send(message)
        default:
            throw .unexpectedCommand
        }
    }
}

extension AppRTCCommand {
    /// The room that a message registers for; nil for every other message.
    package static func room(in bytes: [UInt8]) -> String? {
        guard case .register(let room, _)? = try? AppRTCCommand(bytes, isRegistered: false) else { return nil }
        return AppRTCRoomName(room).room
    }
}
