import Basics
import Foundation
import RoomMedia
import Threads

/// The chat of all rooms: takes messages of signalling and of data channels, and delivers each to every member of the
/// room in the form that the member's client has: as an event, or by its data channel.
final class ChatService: Sendable {
    let pictures: PictureStore
    private let rooms: RoomService
    private let peers: PeerLoops
    private let control: ControlThread
    /// The beginning of links in messages of data channels; empty: such messages have no links.
    private let publicURL: String

    init(
        _ configuration: ConferenceConfiguration, rooms: RoomService, peers: PeerLoops, control: ControlThread,
        pictures: PictureStore
    ) {
        self.pictures = pictures
        self.rooms = rooms
        self.peers = peers
        self.control = control
        publicURL = configuration.publicURL
    }

    /// A message on its way to a room.
    private struct Draft: Sendable {
        enum Content: Sendable {
            case text(String)
            case picture(ChatPicture, bytes: [UInt8])
        }

        var from: String
        var room: String
        var to: String?
        var content: Content
        /// The label of the data channels that have the message already; nil: none.
        var channel: String?
    }

    // MARK: - By signalling

    /// Sends a text to everyone, or to one participant and, as a confirmation, to the sender.
    func send(_ text: String, by id: String, in room: String, to other: String?) throws(ConferenceError) {
        guard ChatMessage.allowedLength.contains(text.utf8.count) else {
            throw .badRequest("text: 1 to \(ChatMessage.allowedLength.upperBound) bytes")
        }
        try rooms.registry.allow(.chat, id, at: MonotonicClock.now())
        try deliver(Draft(from: id, room: room, to: other, content: .text(text)))
    }

    /// Stores a picture and sends it likewise.
    func send(
        picture: [UInt8], by id: String, in room: String, to other: String?
    ) async throws(ConferenceError) -> ChatPicture {
        // Nothing is stored of who may not send it.
        guard let hosted = rooms.registry[room] else { throw .roomNotFound(room) }
        try hosted.read { slot throws(ConferenceError) in try Self.check(slot, from: id, to: other) }
        try rooms.registry.allow(.picture, id, at: MonotonicClock.now())
        let stored = try await pictures.store(picture, try pictures.place(for: picture))
        try deliver(Draft(from: id, room: room, to: other, content: .picture(stored, bytes: picture)))
        return stored
    }

    // MARK: - By data channels

    /// Takes a message that came on the channel of the sender's chat. The channels of the others have it already.
    /// Called on a loop: looks at the bytes and hands them on.
    ///
    /// Text and pictures become messages for everyone else; other bytes, and what exceeds the sender's rate, stay on
    /// the channels alone.
    func received(_ message: RelayedMessage, in room: String) {
        let bytes: [UInt8]
        switch message.content {
        case .text(let text): return received(text, message, in: room)
        case .binary(let binary): bytes = binary
        }
        if ChatPicture.Format(bytes) != nil {
            guard let place = try? pictures.place(for: bytes), isAllowed(.picture, message.from) else { return }
            pictures.store(bytes, place) { [self] result in
                guard let stored = try? result.get() else { return }
                post(.picture(stored, bytes: bytes), message, in: room)
            }
        } else if ChatMessage.allowedLength.contains(bytes.count),
            let text = String(validating: bytes, as: UTF8.self)
        {
            received(text, message, in: room)
        }
    }

    private func received(_ text: String, _ message: RelayedMessage, in room: String) {
        guard ChatMessage.allowedLength.contains(text.utf8.count), isAllowed(.chat, message.from) else { return }
        post(.text(text), message, in: room)
    }

    /// Takes one request of the sender's allowance; a refusal is counted.
    private func isAllowed(_ request: RatedRequest, _ id: String) -> Bool {
        (try? rooms.registry.allow(request, id, at: MonotonicClock.now())) != nil
    }

    private func post(_ content: Draft.Content, _ message: RelayedMessage, in room: String) {
        let draft = Draft(from: message.from, room: room, content: content, channel: message.label)
        // A data channel has no way to tell the sender why nobody got the message.
        control.postIfRoom { [weak self] in try? self?.deliver(draft) }
    }

    // MARK: - Delivery

    private static func check(_ slot: RoomSlot, from id: String, to other: String?) throws(ConferenceError) {
        guard slot.room.member(id) != nil else { throw .participantNotFound(id) }
        try slot.room.requireMaySendMessages(id)
        if let other, slot.room.member(other) == nil { throw .participantNotFound(other) }
    }

    private func deliver(_ draft: Draft) throws(ConferenceError) {
        guard let room = rooms.registry[draft.room] else { throw .roomNotFound(draft.room) }
        try room.change { slot throws(ConferenceError) in
            try Self.check(slot, from: draft.from, to: draft.to)
            let name = slot.room.member(draft.from)?.name ?? ""
            var message = ChatMessage(
                id: RandomToken.make(16), from: draft.from, fromName: name, to: draft.to, text: "", at: Date())
            switch draft.content {
            case .text(let text): message.text = text
            case .picture(let picture, _): message.picture = picture
            }
            if message.to == nil { slot.history.add(message) }
            let receivers = message.to.map { Set([$0, draft.from]) }
            rooms.notifyAll(slot, .chat(message)) { id, listener in
                listener.chatChannel == nil && receivers?.contains(id) ?? true
            }
            if slot.listeners.values.contains(where: { $0.chatChannel != nil && $0.chatChannel != draft.channel }) {
                peers.send(channelForm(of: draft, from: name), in: slot.engine)
            }
        }
    }

    /// The message as data channels carry it. They have no place for a name, so that a text begins with it; a picture
    /// goes as it is.
    private func channelForm(of draft: Draft, from name: String) -> ChannelMessage {
        var message = ChannelMessage(from: draft.from, to: draft.to, besides: draft.channel, forms: [])
        switch draft.content {
        case .text(let text): message.forms = [Array("\(name): \(text)".utf8)]
        case .picture(let picture, let bytes):
            if bytes.count <= ChannelMessage.maxBytes { message.forms.append(bytes) }
            let size = String(format: "%.1f MB", Double(picture.bytes) / 1_000_000)
            let link = publicURL.isEmpty ? "" : " " + publicURL + ChatPicture.path(of: picture.id)
            message.forms.append(Array("\(name): picture of \(size)\(link)".utf8))
        }
        return message
    }
}

extension ChatPicture {
    /// The path at which the server's pages find a picture.
    public static func path(of id: String) -> String { "/images/" + id }
}
