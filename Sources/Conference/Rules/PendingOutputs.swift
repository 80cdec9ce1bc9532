/// The recordings, streams and inputs of a room that came from another server: they go on as soon as somebody with media
/// is back.
struct PendingOutputs: Hashable, Sendable {
    var recordings: [RoomState.Recording] = []
    var streams: [RoomState.Stream] = []
    var inputs: [RoomState.Input] = []

    init() {}

    /// The most of each kind that are gone on with; a room of this server has fewer.
    private static let limit = 64

    init(_ state: RoomState) {
        recordings = Array(state.recordings.prefix(Self.limit))
        streams = Array(state.streams.prefix(Self.limit))
        inputs = Array(state.inputs.prefix(Self.limit))
    }

    var isEmpty: Bool { recordings.isEmpty && streams.isEmpty && inputs.isEmpty }
}
