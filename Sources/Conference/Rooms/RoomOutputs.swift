import Recording
import RoomMedia

/// What leaves a room, and what is pulled into it.
struct RoomOutputs {
    /// The recordings that run or are paused, in the order of their starts.
    var running: [RoomRecording] = []
    /// What the next recording of its view would begin with; nil while one of that view runs, or any is paused, and
    /// where nothing is kept.
    private(set) var preRoll: RoomPreRoll?
    /// How many pre-rolls the room has had.
    private var preRolls = 0
    /// nil where `RoomSettings.hls` is off, and before the first one comes.
    private(set) var hls: RoomHLS?
    var streams = RoomStreams()
    /// What ran where the room comes from, until somebody is back.
    var pending = PendingOutputs()
    /// The sources that the server pulls into the room, the oldest first, also those that are over.
    var inputs: [RoomInput] = []
    /// Snapshots that wait for their picture, by view.
    var snapshots: [ViewID: Int] = [:]

    func recording(_ id: String) -> RoomRecording? { running.first { $0.id == id } }
    var recordingIDs: Set<String> { Set(running.map(\.id)) }

    /// Takes a recording out, for its caller to close; nil: it does not run.
    mutating func endRecording(_ id: String) -> RoomRecording? {
        running.firstIndex { $0.id == id }.map { running.remove(at: $0) }
    }

    /// The views that something takes.
    var views: Set<ViewID> {
        var used = Set(snapshots.keys)
        used.formUnion(running.compactMap(\.view))
        if let preRoll { used.insert(preRoll.view) }
        used.formUnion(streams.views)
        if let view = hls?.view { used.insert(view) }
        return used
    }

    /// Drops what is kept: somebody does not want to be recorded any more.
    mutating func forgetPreRoll() {
        preRoll?.end()
        preRoll = nil
    }

    /// A recording takes over what is kept, where `takes` says so.
    mutating func givePreRoll(_ takes: (RoomPreRoll?) -> Bool) { if takes(preRoll) { preRoll = nil } }

    /// Begins or ends keeping the room's last `length`: it is kept while somebody is in the room, no recording of the
    /// view runs, and none is paused.
    mutating func updatePreRoll(of room: Room, _ length: Duration, _ memory: RecordingMemory, _ engine: RoomEngine) {
        let view = room.settings.recordedView
        let isWanted =
            length > .zero && room.hasPeople
            && !running.contains { $0.view == view || $0.info.state == .paused }
        if let preRoll, isWanted, preRoll.fits(room.settings) { return }
        forgetPreRoll()
        if !isWanted { return }
        preRolls += 1
        preRoll = RoomPreRoll(of: room.settings, number: preRolls, length: length, memory: memory, engine: engine)
    }

    /// Begins or ends the room's HLS stream, and lets it rest while nobody is in the room. `RoomHLS.attach` follows.
    mutating func updateHLS(of room: Room, _ control: HLSControl, _ engine: RoomEngine) {
        guard room.settings.hls else { return endHLS() }
        let view = room.members.isEmpty ? nil : room.settings.streamedView
        if hls == nil, view != nil { hls = control.make(for: room.id, engine) }
        hls?.follow(view)
    }

    mutating func endHLS() {
        hls?.end()
        hls = nil
    }
}
