import Basics
import Threads

/// The media of one stream that waits for its connection: at most two seconds. Beyond that all of it is dropped, and the
/// stream goes on with the next keyframe, so that a slow server never has an old picture.
final class StreamQueue: Sendable {
    enum Item: Sendable {
        case video(EncodedVideoFrame)
        case audio(AACFeed.Packet)

        /// Room time in milliseconds.
        var time: Int64 {
            switch self {
            case .video(let frame): frame.timestamp / 90
            case .audio(let packet): packet.time / 48
            }
        }

        var size: Int {
            switch self {
            case .video(let frame): frame.data.count
            case .audio(let packet): packet.data.count
            }
        }
    }

    /// The most that waits, in milliseconds of room time …
    static let longest: Int64 = 2000
    /// … and in bytes: two seconds at 32 Mbit/s.
    static let largest = 8 << 20

    private struct State {
        var items: [Item] = []
        var bytes = 0
        /// Whether a connection takes media.
        var isOpen = false
        /// Frames are dropped up to the next keyframe.
        var skips = true
        /// Those dropped now are a loss, and not from before the connection's beginning.
        var isLate = false
        var dropped = 0
        var hasEnded = false
    }

    private let state = Condition(State())

    /// What happened to appended media.
    enum Outcome: Sendable { case taken, dropped, overflowed }

    func append(_ item: Item) -> Outcome {
        state.withLock(waking: .one) { state in
            guard state.isOpen, !state.hasEnded else { return .dropped }
            switch item {
            case .video(let frame):
                if state.skips, !frame.isKeyframe {
                    if state.isLate { state.dropped += 1 }
                    return .dropped
                }
                (state.skips, state.isLate) = (false, false)
            case .audio:
                if state.skips { return .dropped }
            }
            state.items.append(item)
            state.bytes += item.size
            guard let first = state.items.first,
                item.time - first.time > Self.longest || state.bytes > Self.largest
            else { return .taken }
            state.dropped += state.items.count { if case .video = $0 { true } else { false } }
            (state.items, state.bytes, state.skips, state.isLate) = ([], 0, true, true)
            return .overflowed
        }
    }

    /// The frames that were dropped so far while a connection stood.
    var dropped: Int { state.withLock { $0.dropped } }

    /// Begins to take media, from the next keyframe on.
    func open() { reset(isOpen: true) }

    /// Drops what waits, and takes nothing.
    func close() { reset(isOpen: false) }

    private func reset(isOpen: Bool) {
        state.withLock { state in
            (state.items, state.bytes, state.skips, state.isLate, state.isOpen) = ([], 0, true, false, isOpen)
        }
    }

    /// Ends all waits.
    func end() { state.withLock(waking: .all) { $0.hasEnded = true } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Waits for media, and returns all of it in order; empty at the deadline and after the end.
    func next(until deadline: Instant) -> [Item] {
        state.wait(until: deadline) { state in
            if state.items.isEmpty, !state.hasEnded { return nil }
            defer { (state.items, state.bytes) = ([], 0) }
            return state.items
        } ?? []
    }

    /// Waits for the deadline, or the end if that is earlier.
    func rest(until deadline: Instant) {
        _ = state.wait(until: deadline) { $0.hasEnded ? true : nil }
    }
}
