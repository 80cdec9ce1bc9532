import Conference
import Foundation

/// `GET /api/rooms`: one line of the list.
struct RoomSummary: Codable, Sendable, Equatable {
    var id: String
    /// How many there are.
    var participants: Int
    var layout: String
    @AlwaysPresent var recording: RecordingModel?
    var createdAt: Date
}

/// One room with everything in it.
struct RoomDetail: Codable, Sendable, Equatable {
    var id: String
    var createdAt: Date
    var layout: String
    var width: Int
    var height: Int
    var framesPerSecond: Int
    var locked: Bool
    var maxParticipants: Int
    var participants: [ParticipantModel]
    var tiles: [TileModel]
    var renditions: [RenditionModel]
    @AlwaysPresent var recording: RecordingModel?
}

/// `PUT /api/rooms/{room}`: what to change; what is missing stays.
struct RoomPatch: Codable, Sendable, Equatable {
    var layout: String?
    var width: Int?
    var height: Int?
    var framesPerSecond: Int?
    var locked: Bool?
    var maxParticipants: Int?

    static let keys = ["layout", "width", "height", "framesPerSecond", "locked", "maxParticipants"]

    /// The first value that no room can have, in words.
    var fault: String? {
        if let layout, !LayoutInfo.isName(layout) { return "layout: the name of a layout (1 to 64 of a-z, 0-9, - and _)" }
        if let width, !(160...3840).contains(width) || width % 2 != 0 { return "width: an even number from 160 to 3840" }
        if let height, !(90...2160).contains(height) || height % 2 != 0 { return "height: an even number from 90 to 2160" }
        if let framesPerSecond, !(1...60).contains(framesPerSecond) { return "framesPerSecond: a whole number from 1 to 60" }
        if let maxParticipants, !(1...1000).contains(maxParticipants) { return "maxParticipants: a whole number from 1 to 1000" }
        return nil
    }
}

struct ParticipantModel: Codable, Sendable, Equatable {
    var id: String
    var name: String
    var role: Role
    /// What the participant has switched on.
    var audio: Bool
    var video: Bool
    var hand: Bool
    var speaking: Bool
    var presenting: Bool
    /// What a moderator has switched off.
    var audioMuted = false
    var videoMuted = false
    var pinned = false
    /// 1 is as it comes.
    var volume = 1.0
}

/// `PATCH /api/rooms/{room}/participants/{id}`.
struct ParticipantPatch: Codable, Sendable, Equatable {
    var audioMuted: Bool?
    var videoMuted: Bool?
    var pinned: Bool?
    var role: Role?
    var volume: Double?
    var name: String?

    static let keys = ["audioMuted", "videoMuted", "pinned", "role", "volume", "name"]

    var fault: String? {
        if let volume, !(0...4).contains(volume) { return "volume: a number from 0 to 4" }
        if let name, displayName(name) == nil { return "name: 1 to 64 characters" }
        return nil
    }
}

struct TilesModel: Codable, Sendable, Equatable {
    var width: Int
    var height: Int
    var tiles: [TileModel]
}

/// In canvas pixels.
struct TileModel: Codable, Sendable, Equatable {
    var participant: String
    var x: Int
    var y: Int
    var width: Int
    var height: Int
    /// The picture shows the name itself; where it does not, a client may write it over the tile.
    var label = true
}

/// One encode of the room's picture, and how many receive it.
struct RenditionModel: Codable, Sendable, Equatable {
    var codec: String
    var width: Int
    var height: Int
    var framesPerSecond: Int
    /// Bits per second.
    var bitrate: Int
    var peers: Int
}

struct RecordingModel: Codable, Sendable, Equatable {
    /// `repairing`: a crash left it open, and it is being closed.
    enum State: String, Codable, Sendable, CaseIterable { case recording, paused, finished, failed, repairing }

    var id: String
    var room: String?
    /// Its name.
    var file: String
    var state: State
    var startedAt: Date?
    /// Seconds.
    var duration: Double?
    var bytes: Int?
    /// What a slow disk lost; nil: nothing.
    var dropped: LossesModel?
    /// Why it failed, or ended early.
    var error: String?
}

struct LossesModel: Codable, Sendable, Equatable {
    /// Pictures.
    var video: Int
    /// Blocks of 20 ms.
    var audio: Int
}

struct LayoutModel: Codable, Sendable, Equatable {
    var name: String
    var description: String
}

struct ChatModel: Codable, Sendable, Equatable {
    var from: String
    var name: String
    var text: String
    /// The one it was said to; nil is everyone.
    var to: String?
    var at: Date
}

/// One sample of a Prometheus metric.
struct MetricLine: Sendable, Equatable {
    enum Kind: String, Sendable { case counter, gauge, histogram, summary }

    var name: String
    var help: String
    var kind: Kind
    var labels: [(String, String)] = []
    var value: Double

    static func == (lhs: MetricLine, rhs: MetricLine) -> Bool {
        lhs.name == rhs.name && lhs.value == rhs.value && lhs.labels.elementsEqual(rhs.labels, by: ==)
    }
}

/// An optional that is written as `null` when it is nil: the key is part of the contract.
@propertyWrapper
struct AlwaysPresent<Value: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    var wrappedValue: Value?

    init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}

extension KeyedDecodingContainer {
    /// A missing key is as good as null.
    func decode<Value>(_ type: AlwaysPresent<Value>.Type, forKey key: Key) throws -> AlwaysPresent<Value> {
        try decodeIfPresent(type, forKey: key) ?? AlwaysPresent(wrappedValue: nil)
    }
}

/// A name as it is shown: without control characters, spaces trimmed, 1 to 64 characters and 256 bytes, and something to see in it; nil if
/// that is not so.
func displayName(_ text: String) -> String? {
    // Whatever its bytes become, a name is short.
    guard text.utf8.count <= 1024 else { return nil }
    let name = String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.isHiddenControl }))
        .trimmingCharacters(in: .whitespacesAndNewlines)
    guard (1...64).contains(name.count), name.utf8.count <= 256, name.unicodeScalars.contains(where: \.isVisible) else { return nil }
    return name
}

extension Unicode.Scalar {
    /// What changes how other characters stand, or breaks the line, and is not seen itself: bidirectional controls (UAX #9), zero-width
    /// characters, separators. The two joiners and the tags stay: scripts and emoji are made with them.
    fileprivate var isHiddenControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: true
        case .format: value != 0x200C && value != 0x200D && !(0xE0020...0xE007F).contains(value)
        default: false
        }
    }

    /// Alone it puts something on the screen: no space, no mark that needs another, no filler.
    fileprivate var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .nonspacingMark, .enclosingMark, .spacingMark,
            .unassigned, .privateUse, .surrogate:
            false
        // U+2800 is the braille pattern without dots.
        default: !properties.isDefaultIgnorableCodePoint && value != 0x2800
        }
    }
}

/// A room's id: any text of up to 64 characters and 128 bytes that can stand in a link and does not look like a path.
func isRoomID(_ text: String) -> Bool {
    guard (1...128).contains(text.utf8.count), text.count <= 64, text.first != ".", text.first != " ", text.last != " ",
        text.unicodeScalars.contains(where: \.isVisible)
    else { return false }
    return text.unicodeScalars.allSatisfy {
        !$0.isHiddenControl && $0 != "/" && $0 != "\\" && $0 != "?" && $0 != "#" && $0 != "%"
    }
}
