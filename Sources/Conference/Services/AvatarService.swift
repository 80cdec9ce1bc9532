import Codecs

/// The avatars of the people in rooms: shown in their tiles instead of initials.
package final class AvatarService: Sendable {
    let files: AvatarStore
    private let rooms: RoomService

    init(_ files: AvatarStore, rooms: RoomService) {
        self.files = files
        self.rooms = rooms
    }

    /// Gives a participant the picture of a PNG or JPEG file; nil takes it away.
    package func set(_ file: [UInt8]?, of id: String, in room: String) async throws(ConferenceError) {
        // Nothing is decoded for nobody.
        _ = try picture(of: id, in: room)
        var picture: StillImage?
        if let file { picture = try await files.decode(file) }
        try rooms.change(room) { slot throws(ConferenceError) in try slot.room.setAvatar(picture, of: id) }
    }

    /// The participant's avatar as PNG, at most 256 pixels wide and high.
    package func png(of id: String, in room: String) async throws(ConferenceError) -> [UInt8] {
        guard let picture = try picture(of: id, in: room) else { throw .pictureNotFound }
        return try await files.png(picture)
    }

    private func picture(of id: String, in room: String) throws(ConferenceError) -> StillImage? {
        guard let hosted = rooms.registry[room] else { throw .roomNotFound(room) }
        guard let member = hosted.read({ $0.room.member(id) }) ?? nil else { throw .participantNotFound(id) }
        return member.avatar
    }

    /// Stores an avatar for joins that name it (`JoinRequest.avatar`).
    package func store(_ file: [UInt8], as name: String) async throws(ConferenceError) {
        try await files.store(file, as: name)
    }

    /// The file of a stored avatar.
    package func file(_ name: String) async throws(ConferenceError) -> [UInt8] { try await files.file(name) }

    package func delete(_ name: String) async throws(ConferenceError) { try await files.delete(name) }

    /// Gives a new participant the stored avatar that its token names, as soon as it is decoded.
    func take(_ name: String?, for id: String, in room: String) {
        guard let name else { return }
        files.find(name) { [rooms] picture in
            _ = try? rooms.change(room) { slot throws(ConferenceError) in try slot.room.setAvatar(picture, of: id) }
        }
    }
}
