import FoundationEssentials

/// Why a stored state is of no use.
package struct BadRoomState: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String
    /// A server of a newer version can use it.
    package var isNewer: Bool

    package init(description: String, isNewer: Bool = false) {
        self.description = description
        self.isNewer = isNewer
    }
}

extension RoomState {
    /// The state as JSON of at most `limit` bytes: the oldest messages go first, then the seats of viewers, then others.
    package func encoded(limit: Int = maxBytes) -> [UInt8] {
        var state = self
        while true {
            let bytes = (try? RoomState.encoder.encode(state)).map { Array($0) } ?? []
            if bytes.count <= limit { return bytes }
            // A half at a time: fewer than 24 turns.
            if !state.chat.isEmpty {
                state.chat.removeFirst((state.chat.count + 1) / 2)
            } else if state.seats.contains(where: { $0.role == .viewer }) {
                state.seats.removeAll { $0.role == .viewer }
            } else if !state.gone.isEmpty {
                state.gone.removeFirst((state.gone.count + 1) / 2)
            } else if !state.removed.isEmpty {
                state.removed.removeFirst((state.removed.count + 1) / 2)
            } else if !state.seats.isEmpty {
                state.seats.removeLast((state.seats.count + 1) / 2)
            } else {
                return bytes
            }
        }
    }

    /// Reads a stored state.
    package init(json bytes: [UInt8]) throws(BadRoomState) {
        guard bytes.count <= RoomState.maxBytes else { throw BadRoomState(description: "\(bytes.count) bytes") }
        do {
            self = try JSONDecoder().decode(RoomState.self, from: Data(bytes))
        } catch let fault as BadRoomState {
            throw fault
        } catch {
            throw BadRoomState(description: "it is no JSON object of a room")
        }
    }

    /// Times are in seconds since 2001, as Foundation has them, which is exact.
    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

}

/// An element of a list of which the broken ones are left out.
private struct Tolerant<Value: Decodable>: Decodable {
    var value: Value?
    init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }
}

extension KeyedDecodingContainer {
    /// The value; nil where it is missing or of another type.
    fileprivate func value<Value: Decodable>(_ key: Key, as type: Value.Type = Value.self) -> Value? {
        (try? decodeIfPresent(Value.self, forKey: key)) ?? nil
    }

    /// The elements that can be read.
    fileprivate func list<Value: Decodable>(_ key: Key, of type: Value.Type = Value.self) -> [Value] {
        (value(key, as: [Tolerant<Value>].self) ?? []).compactMap(\.value)
    }

    /// A time of the years 1970 to 9999; others cannot be written as a date.
    fileprivate func date(_ key: Key) -> Date? {
        value(key, as: Date.self).flatMap { (0...253_402_300_799).contains($0.timeIntervalSince1970) ? $0 : nil }
    }
}

extension RoomState {
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        guard let version: Int = members.value(.version), let room: String = members.value(.room),
            let meeting: String = members.value(.meeting), let savedAt = members.date(.savedAt)
        else { throw BadRoomState(description: "version, room, meeting or savedAt is missing") }
        // Additions of neighbouring versions are members that count as not there.
        let needs = members.value(.needs) ?? version
        guard needs <= RoomState.version, version >= RoomState.oldest else {
            throw BadRoomState(
                description:
                    "it is of version \(version), which servers of version \(needs) and later read, and this one has \(RoomState.version)",
                isNewer: needs > RoomState.version)
        }
        self.init(
            room: room, meeting: meeting, createdAt: members.date(.createdAt) ?? savedAt, savedAt: savedAt)
        isReserved = members.value(.isReserved) ?? false
        do {
            // A room without the PIN that it had would be open.
            settings = try members.decodeIfPresent(Settings.self, forKey: .settings) ?? Settings()
        } catch {
            throw BadRoomState(description: "its settings cannot be read")
        }
        seats = members.list(.seats)
        gone = members.list(.gone)
        removed = members.list(.removed)
        hosts = members.value(.hosts)
        links = members.list(.links)
        isOver = members.value(.isOver) ?? false
        chat = members.list(.chat)
        recordings = members.list(.recordings)
        streams = members.list(.streams)
        inputs = members.list(.inputs)
        breakout = members.value(.breakout)
    }
}

extension RoomState.Seat: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, name, role, isProven = "proven", audio, video, hand, audioMuted, videoMuted, pinOrder, volume
        case unrecordedBy, view, ownLayout, ownPins, identity, avatar, hostKey, mayHost, drawsSigns, handOrder
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        guard let name = Names.shown(try members.decode(String.self, forKey: .name)) else {
            throw BadRoomState(description: "name")
        }
        // A role that this server does not know has the fewest rights.
        self.init(
            id: try members.decode(String.self, forKey: .id), name: name,
            role: members.value(.role, as: String.self).flatMap { Role(rawValue: $0) } ?? .viewer)
        isProven = members.value(.isProven) ?? isProven
        audio = members.value(.audio) ?? audio
        video = members.value(.video) ?? video
        hand = members.value(.hand) ?? hand
        handOrder = members.value(.handOrder).flatMap { (0..<1_000_000_000).contains($0) ? $0 : nil }
        audioMuted = members.value(.audioMuted) ?? audioMuted
        videoMuted = members.value(.videoMuted) ?? videoMuted
        // The next pin has the next number.
        pinOrder = members.value(.pinOrder).flatMap { (0..<1_000_000).contains($0) ? $0 : nil }
        volume = members.value(.volume).flatMap { ParticipantChange.allowedVolume.contains($0) ? $0 : nil } ?? volume
        unrecordedBy = members.list(.unrecordedBy)
        view = members.value(.view)
        ownLayout = members.value(.ownLayout)
        ownPins = members.list(.ownPins)
        identity = members.value(.identity)
        avatar = members.value(.avatar)
        hostKey = members.value(.hostKey)
        mayHost = members.value(.mayHost) ?? mayHost
        drawsSigns = members.value(.drawsSigns) ?? drawsSigns
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        let usual = RoomState.Seat(id: id, name: name, role: role)
        func put<Value: Encodable & Equatable>(_ path: KeyPath<RoomState.Seat, Value>, _ key: CodingKeys) throws {
            if self[keyPath: path] != usual[keyPath: path] { try members.encode(self[keyPath: path], forKey: key) }
        }
        try members.encode(id, forKey: .id)
        try members.encode(name, forKey: .name)
        try members.encode(role.rawValue, forKey: .role)
        try put(\.isProven, .isProven)
        try put(\.audio, .audio)
        try put(\.video, .video)
        try put(\.hand, .hand)
        try put(\.handOrder, .handOrder)
        try put(\.audioMuted, .audioMuted)
        try put(\.videoMuted, .videoMuted)
        try put(\.pinOrder, .pinOrder)
        try put(\.volume, .volume)
        try put(\.unrecordedBy, .unrecordedBy)
        try put(\.view, .view)
        try put(\.ownLayout, .ownLayout)
        try put(\.ownPins, .ownPins)
        try put(\.identity, .identity)
        try put(\.avatar, .avatar)
        try put(\.hostKey, .hostKey)
        try put(\.mayHost, .mayHost)
        try put(\.drawsSigns, .drawsSigns)
    }
}

extension RoomState.Message {
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        guard let at = members.date(.at) else { throw BadRoomState(description: "at") }
        self.init(
            id: try members.decode(String.self, forKey: .id), from: try members.decode(String.self, forKey: .from),
            name: members.value(.name) ?? "", text: members.value(.text) ?? "", at: at, picture: members.value(.picture)
        )
        guard text.utf8.count <= ChatMessage.allowedLength.upperBound, name.utf8.count <= 256,
            picture != nil || !text.isEmpty
        else { throw BadRoomState(description: "text") }
    }
}

extension RoomState.Recording {
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(series: try members.decode(String.self, forKey: .series))
        guard (1...200).contains(series.utf8.count) else { throw BadRoomState(description: "series") }
        part = members.value(.part).flatMap { (1..<1_000_000).contains($0) ? $0 : nil } ?? part
        view = members.value(.view)
        audioOnly = members.value(.audioOnly) ?? audioOnly
        tracks = members.value(.tracks)
        startedBy = members.value(.startedBy)
        isPaused = members.value(.isPaused) ?? isPaused
        group = members.value(.group)
    }
}

extension RoomState.Input {
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            url: try members.decode(String.self, forKey: .url), name: try members.decode(String.self, forKey: .name),
            loops: members.value(.loops) ?? false)
    }
}
