import Basics
import FoundationEssentials
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
        /// Whether it is to all breakout groups.
        var isForAll = false
        var content: Content
        /// The label of the data channels that have the message already; nil: none.
        var channel: String?
    }

    // MARK: - By signalling

    /// Sends a text to everyone of the sender's group, or to one participant and, as a confirmation, to the sender.
    ///
    /// - Parameter all: to all groups.
    func send(
        _ text: String, by id: String, in room: String, to other: String?, all: Bool = false
    ) throws(ConferenceError) {
        guard ChatMessage.allowedLength.contains(text.utf8.count) else {
            throw .badRequest("text: 1 to \(ChatMessage.allowedLength.upperBound) bytes")
        }
        try rooms.registry.allow(.chat, id, at: MonotonicClock.now())
        try deliver(Draft(from: id, room: room, to: other, isForAll: all && other == nil, content: .text(text)))
    }

    /// Stores a picture and sends it likewise.
    func send(
        picture: [UInt8], by id: String, in room: String, to other: String?
    ) async throws(ConferenceError) -> ChatPicture {
        // Nothing is stored of who may not send it.
        guard let hosted = rooms.registry[room] else { throw .roomNotFound(room) }
        try hosted.read { slot throws(ConferenceError) in try Self.check(slot, from: id, to: other) }
        try rooms.registry.allow(.picture, id, at: MonotonicClock.now())
        let stored = try await pictures.store(
            picture, try pictures.place(for: picture), of: owner(ofPicturesBy: id, in: room))
        try deliver(Draft(from: id, room: room, to: other, content: .picture(stored, bytes: picture)))
        return stored
    }

    private func owner(ofPicturesBy id: String, in room: String) -> PictureOwner {
        let meeting = rooms.registry[room]?.read { PictureOwner.Meeting(room: room, id: $0.room.meetingID) }
        return PictureOwner(meeting: meeting, address: rooms.registry.seat(id)?.client.address)
    }

    /// Deletes, in the background, the pictures whose meetings are over, and those that no chat has sent.
    func expirePictures(at now: Instant) {
        pictures.expire(at: now) { [rooms] meeting in
            rooms.registry[meeting.room]?.read { $0.room.meetingID } != meeting.id
        }
    }

    // MARK: - By data channels

    /// Takes a message that came on the channel of the sender's chat. The channels of the others have it already.
    /// Called on a loop: looks at the bytes, and hands text and pictures to the control thread. Other bytes stay on the
    /// channels alone.
    func received(_ message: RelayedMessage, in room: String) {
        switch message.content {
        case .text(let text): received(text, message, in: room)
        case .binary(let bytes):
            if ChatPicture.Format(bytes) != nil {
                received(picture: bytes, message, in: room)
            } else if ChatMessage.allowedLength.contains(bytes.count),
                let text = String(validating: bytes, as: UTF8.self)
            {
                received(text, message, in: room)
            }
        }
    }

    private func received(_ text: String, _ message: RelayedMessage, in room: String) {
        guard ChatMessage.allowedLength.contains(text.utf8.count) else { return }
        control.postIfRoom { [weak self] in
            guard let self, isAllowed(.chat, message.from) else { return }
            // A data channel has no way to tell the sender why others did not get the message.
            try? deliver(Draft(from: message.from, room: room, content: .text(text), channel: message.label))
        }
    }

    private func received(picture: [UInt8], _ message: RelayedMessage, in room: String) {
        guard let place = try? pictures.place(for: picture) else { return }
        control.postIfRoom { [weak self] in
            guard let self, isAllowed(.picture, message.from) else { return }
            pictures.store(picture, place, of: owner(ofPicturesBy: message.from, in: room)) { [self] result in
                guard let stored = try? result.get() else { return }
                let draft = Draft(
                    from: message.from, room: room, content: .picture(stored, bytes: picture), channel: message.label)
                control.postIfRoom { [weak self] in try? self?.deliver(draft) }
            }
        }
    }

    /// Takes one request of the sender's allowance; a refusal is counted.
    private func isAllowed(_ request: RatedRequest, _ id: String) -> Bool {
        (try? rooms.registry.allow(request, id, at: MonotonicClock.now())) != nil
    }

    // MARK: - Delivery

    private static func check(_ slot: RoomRecord, from id: String, to other: String?) throws(ConferenceError) {
        guard slot.room.member(id) != nil else { throw .participantNotFound(id) }
        try slot.room.require(.chat, id)
        guard let other else { return }
        guard let receiver = slot.room.member(other) else { throw .participantNotFound(other) }
        let isNear = slot.room.place(of: id) == slot.room.place(of: receiver)
        if isNear || receiver.permits(.breakOut) || slot.room.member(id)?.permits(.breakOut) == true { return }
        throw .conflict("“\(receiver.name)” is in another group: write when you are back together.")
    }

    private func deliver(_ draft: Draft) throws(ConferenceError) {
        guard let room = rooms.registry[draft.room] else { throw .roomNotFound(draft.room) }
        try room.change { slot throws(ConferenceError) in
            try Self.check(slot, from: draft.from, to: draft.to)
            if draft.isForAll { try slot.room.require(.breakOut, draft.from) }
            let name = slot.room.member(draft.from)?.name ?? ""
            let group = slot.room.place(of: draft.from)
            var message = ChatMessage(
                id: RandomToken.make(16), from: draft.from, fromName: name, to: draft.to, text: "", at: Date())
            (message.group, message.isForAll) = (group.number, draft.isForAll)
            switch draft.content {
            case .text(let text): message.text = text
            case .picture(let picture, _): message.picture = picture
            }
            if message.to == nil {
                slot.history.add(message)
                rooms.events.publish(.chat(message), room: draft.room, isPrivate: true)
            }
            let receivers = message.to.map { Set([$0, draft.from]) }
            rooms.notifyAll(slot, .chat(message)) { id, listener in
                listener.chatChannel == nil
                    && receivers?.contains(id) ?? (draft.isForAll || slot.room.place(of: id) == group)
            }
            if slot.audience.listeners.values.contains(where: {
                $0.chatChannel != nil && $0.chatChannel != draft.channel
            }) {
                var form = channelForm(of: draft, from: name)
                form.group = draft.to == nil && !draft.isForAll ? group : nil
                peers.send(form, in: slot.engine)
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
            let size = String(Double(picture.bytes) / 1_000_000, decimals: 1) + " MB"
            let link = publicURL.isEmpty ? "" : " " + publicURL + picture.path
            message.forms.append(Array("\(name): picture of \(size)\(link)".utf8))
        }
        return message
    }
}
