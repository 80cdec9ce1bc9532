import Codecs

/// The avatars of the people in rooms: shown in their tiles instead of initials.
final class AvatarService: Sendable {
    let store: AvatarStore
    private let rooms: RoomService

    init(_ store: AvatarStore, rooms: RoomService) {
        self.store = store
        self.rooms = rooms
    }

    /// Gives a participant the picture of a PNG or JPEG file; nil takes it away.
    func set(_ file: [UInt8]?, of id: String, in room: String) async throws(ConferenceError) {
        // Nothing is decoded for nobody.
        _ = try picture(of: id, in: room)
        var picture: StillImage?
        if let file { picture = try await store.decode(file) }
        try rooms.change(room) { slot throws(ConferenceError) in try slot.room.setAvatar(picture, of: id) }
    }

    /// The participant's avatar as PNG, at most 256 pixels wide and high.
    func png(of id: String, in room: String) async throws(ConferenceError) -> [UInt8] {
        guard let picture = try picture(of: id, in: room) else { throw .pictureNotFound }
        return try await store.png(picture)
    }

    private func picture(of id: String, in room: String) throws(ConferenceError) -> StillImage? {
        guard let hosted = rooms.registry[room] else { throw .roomNotFound(room) }
        guard let member = hosted.read({ $0.room.member(id) }) ?? nil else { throw .participantNotFound(id) }
        return member.avatar
    }

    /// Gives a new participant the stored avatar that its token names, as soon as it is decoded.
    func take(_ name: String?, for id: String, in room: String) {
        guard let name else { return }
        store.find(name) { [rooms] picture in
            _ = try? rooms.change(room) { slot throws(ConferenceError) in try slot.room.setAvatar(picture, of: id) }
        }
    }
}
