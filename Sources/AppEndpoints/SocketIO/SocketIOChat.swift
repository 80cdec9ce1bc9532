import Admission
import Basics
import Conference
import FoundationEssentials
import WebServer

/// Chat from person to person, and between a client and the room in which it is.
final class SocketIOChat: Sendable {
    private let sessions: SocketIOSessions

    private let pictures: any ConferencePictures
    private let uploads: SocketIOUploads
    /// The pictures that are being read for clients of their rooms.
    private let readings = Guarded<[String: Task<BinaryMessage?, Never>]>([:])

    init(_ sessions: SocketIOSessions, pictures: any ConferencePictures, uploads: SocketIOUploads) {
        self.sessions = sessions
        self.uploads = uploads
        self.pictures = pictures
    }

    // MARK: From clients

    /// `chat`: brings the message to its recipient, and acknowledges it with the server's data, whether or not the
    /// recipient is online, and whether or not it could be brought: the apps know no refusal, and one of them waits for
    /// ever. Why it was not brought comes as a message.
    func received(_ argument: JSONValue, _ attachments: [BinaryMessage], _ id: Int?, _ client: SocketIOClient) async {
        guard var message = ChatEnvelope(argument, attachments, from: client.user) else {
            return decline(
                argument, id, client, "the server takes text, pictures, recordings and places, of up to 32 KiB of text."
            )
        }
        sentUploads(message, client)
        var reason: String?
        var path: String?
        do throws(ConferenceError) {
            if let room = SocketIORooms.room(message.to) {
                if let seat = client.read({ $0.call.room == room ? $0.seat : nil }) {
                    path = try await write(message, seat, client)
                } else {
                    reason = refusal(of: message, in: room, client)
                }
            } else {
                path = try await store(message, client)
            }
        } catch {
            reason = "This was not sent: \(error.message)"
        }
        stamp(&message, path: path)
        if reason == nil, SocketIORooms.room(message.to) == nil, !bring(message, of: client) {
            reason = "This was not sent: too much that was sent from here waits for its readers. Try again in a minute."
        }
        if let reason { tell(client, reason, as: message.to) }
        // The client knows itself by its own name, whatever mark it has for others.
        let known =
            client.identity.own == client.user ? message : message.sent(from: client.identity.own, to: message.to)
        sessions.acknowledge(id, known.acknowledgement, to: client)
    }

    /// Brings a message to all sessions of the account that has the recipient's name. Returns false where there is no
    /// room for it.
    private func bring(_ message: ChatEnvelope, of sender: SocketIOClient) -> Bool {
        let recipients = sessions.clients(of: message.to)
        // All of them are one account's, and know themselves by the same name.
        guard let own = recipients.first?.identity.own else { return true }
        let (argument, attachments) =
            (own == message.to ? message : message.sent(from: message.from, to: own)).delivery
        return sessions.emit("chat", argument, attachments, of: sender, to: recipients)
    }

    /// Acknowledges a message that goes nowhere, and says why in its conversation, where it names one.
    func decline(_ argument: JSONValue, _ id: Int?, _ client: SocketIOClient, _ reason: String) {
        guard id != nil else { return }
        var message = ChatEnvelope(declined: argument, from: client.user)
        stamp(&message, path: nil)
        if !message.to.isEmpty { tell(client, "This was not sent: \(reason)", as: message.to) }
        sessions.acknowledge(id, message.acknowledgement, to: client)
    }

    private func stamp(_ message: inout ChatEnvelope, path: String?) {
        message.stamp(id: UUID().uuidString.lowercased(), at: Date(), path: path)
    }

    /// Stores a picture. Returns its path; nil for all else: the store takes no recordings.
    private func store(
        _ message: ChatEnvelope, _ client: SocketIOClient
    ) async throws(ConferenceError) -> String? {
        guard message.kind == .picture, let file = message.file else { return nil }
        return ChatEnvelope.path(try await pictures.store(file.bytes, from: client.address, isSent: true))
    }

    /// Keeps the pictures that the client's account has uploaded and the message names.
    private func sentUploads(_ message: ChatEnvelope, _ client: SocketIOClient) {
        guard let text = message.text else { return }
        for id in uploads.take(of: client.identity.account, in: text) { pictures.keep(id) }
    }

    /// Writes into the chat of the room in which the client is. Returns the path of a stored picture.
    private func write(
        _ message: ChatEnvelope, _ seat: any ConferenceSeat, _ client: SocketIOClient
    ) async throws(ConferenceError) -> String? {
        if let text = message.text { try seat.chat(text, to: nil, all: false) }
        guard let file = message.file else { return nil }
        if message.kind == .picture { return ChatEnvelope.path(try await seat.sendPicture(file.bytes, to: nil)) }
        // Only apps of this family play recordings: those that are in the room.
        for other in sessions.clients(in: seat.room) where other.id != client.id {
            var copy = message.sent(from: SocketIORooms.user(seat.room), to: other.identity.own)
            stamp(&copy, path: nil)
            let (argument, attachments) = copy.delivery
            _ = sessions.emit("chat", argument, attachments, of: client, to: [other])
        }
        return nil
    }

    /// What a client is told that is not in the call of a room to which it writes: only those in the call do. The apps
    /// have no field for a room's PIN, so what may be one is kept for the client's call: whether it is is not told here,
    /// nor whether the room has one.
    private func refusal(of message: ChatEnvelope, in room: String, _ client: SocketIOClient) -> String {
        guard let text = message.text, RoomPIN(text) != nil else {
            return "Join the call of this room to write here: call \(message.to)."
        }
        client.change { $0.pin = (room, text) }
        return "Nobody has read this: call \(message.to) to join. If it is the PIN of this room, the call will use it."
    }

    /// Writes to a client in the room's name.
    func tell(_ client: SocketIOClient, _ text: String, from room: String) {
        tell(client, text, as: SocketIORooms.user(room))
    }

    private func tell(_ client: SocketIOClient, _ text: String, as user: String) {
        var message = ChatEnvelope(from: user, to: client.identity.own, text: text)
        stamp(&message, path: nil)
        deliver(message, to: client)
    }

    /// The Android app fails on a message that asks for no acknowledgement.
    private func deliver(_ message: ChatEnvelope, to client: SocketIOClient) {
        let (argument, attachments) = message.delivery
        sessions.emit("chat", argument, attachments, ack: sessions.nextAck(), to: client)
    }

    // MARK: From rooms

    /// A message of the client's room, which the client sees as one of the user that stands for the room.
    func said(_ message: ChatMessage, in seat: any ConferenceSeat, to client: SocketIOClient) {
        guard message.from != seat.id else { return }
        let room = seat.room
        guard let picture = message.picture else {
            return tell(client, "\(message.fromName): \(message.text)", from: room)
        }
        let reading = read(picture)
        Task {
            guard let file = await reading.value else {
                let link = ChatEnvelope.path(picture)
                return self.tell(client, "\(message.fromName): \(link)", from: room)
            }
            var copy = ChatEnvelope(
                from: SocketIORooms.user(room), to: client.identity.own, picture: file, name: picture.id)
            self.stamp(&copy, path: ChatEnvelope.path(picture))
            self.deliver(copy, to: client)
        }
    }

    /// Reads a picture once for all clients of its room. nil: it is gone, or too many bytes wait for slow readers.
    private func read(_ picture: ChatPicture) -> Task<BinaryMessage?, Never> {
        readings.withLock { readings in
            if let reading = readings[picture.id] { return reading }
            let reading = Task<BinaryMessage?, Never> { [pictures, sessions, readings = self.readings] in
                defer { _ = readings.withLock { $0.removeValue(forKey: picture.id) } }
                sessions.makeRoom(for: picture.bytes)
                guard let share = sessions.budget.take(picture.bytes, for: nil),
                    let bytes = try? await pictures.read(picture.id)
                else { return nil }
                return BinaryMessage(bytes, share: share)
            }
            readings[picture.id] = reading
            return reading
        }
    }
}
