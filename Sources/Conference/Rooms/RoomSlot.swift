import Basics
import Mixing
import RoomMedia

/// A room with its media and those who listen to it.
struct RoomSlot {
    struct Listener {
        var mailbox: EventMailbox
        var receivesMessages: Bool
        var opensChannels: [String]
    }

    var room: Room
    let engine: RoomEngine
    /// Whom the room is counted for; nobody's address where the API made it.
    var client = JoinClient()
    var listeners: [String: Listener] = [:]
    var recording: RoomRecording?
    /// What senders were told that their tiles are worth.
    var limits: [String: SenderLimit] = [:]
    /// The tiles of each view, as last told.
    var tiles: [ViewID: TilesInfo] = [:]
    /// Made by `createRoom`: it waits for its first guest as long as that takes.
    var isReserved = false
    /// The only guest so far, and whether the room was there before, reserved; nil once another came.
    var firstGuest: (id: String, foundRoom: Bool)?

    /// Which picture a member gets: its own, that of whom it stands for, or the room's.
    func view(of id: String) -> ViewID {
        guard let member = room.member(id) else { return .room }
        if let view = member.view ?? member.asParticipant.flatMap({ room.member($0)?.view }) { return .personal(view) }
        return .room
    }

    var views: [String: ViewID] {
        Dictionary(room.members.map { ($0.id, view(of: $0.id)) }) { first, _ in first }
    }

    /// All that the mix must know. `layout` gives the layout of a name, or another that exists.
    func scene(layout: (String) -> Layout?) -> Scene {
        Self.scene(of: room, layout: layout)
    }

    static func scene(of room: Room, layout: (String) -> Layout?) -> Scene {
        var scene = Scene(
            width: room.settings.width, height: room.settings.height, framesPerSecond: room.settings.framesPerSecond,
            views: [.room: Scene.View(layout: layout(room.settings.layout), pins: nil)], speaker: room.speaker)
        for (rank, id) in room.speakerRanks.enumerated() { scene.speakerRanks[id] = rank }
        for member in room.members {
            scene.people.append(
                Scene.Person(
                    id: member.id, name: member.name, isShown: member.isShown, sendsVideo: member.sendsVideo,
                    sendsAudio: member.sendsAudio, isMuted: !member.sendsAudio, hand: member.hand, isSpeaking: member.isSpeaking,
                    isPresenting: member.isPresenting, isPinned: member.isPinned, joinOrder: member.joinOrder,
                    gain: Float(member.volume), hearsAs: member.asParticipant ?? member.id))
            if let view = member.view {
                scene.views[.personal(view)] = Scene.View(
                    layout: layout(view.layout), pins: view.pins.isEmpty ? nil : view.pins)
            }
        }
        return scene
    }

    /// What each sender's largest tile is worth, where that changed by more than a tenth.
    mutating func newLimits() -> [String: SenderLimit] {
        var largest: [String: TilesInfo.Tile] = [:]
        for view in tiles.values {
            for tile in view.tiles {
                let known = largest[tile.participant]
                if known.map({ $0.width * $0.height < tile.width * tile.height }) ?? true { largest[tile.participant] = tile }
            }
        }
        var changed: [String: SenderLimit] = [:]
        for member in room.members where member.kind == .participant {
            let tile = largest[member.id]
            let limit = SenderLimit(
                rate: TileWorth.rate(area: tile.map { $0.width * $0.height }, isPresenting: member.isPresenting),
                height: tile?.height)
            let old = limits[member.id]?.rate.bitsPerSecond ?? 0
            guard abs(limit.rate.bitsPerSecond - old) * 10 > old else { continue }
            limits[member.id] = limit
            changed[member.id] = limit
        }
        return changed
    }
}
