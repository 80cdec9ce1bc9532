import Basics
import Codecs
import Threads

/// The packets between the thread that reads an input and the one that plays it. The reader waits while it is full.
final class PacketQueue: Sendable {
    /// The most packets, bytes and time that wait. A fetched input is read ahead by `ahead`.
    static let mostPackets = 3000
    static let mostBytes = 16 << 20
    static let ahead = Duration.seconds(3)
    /// Of one stream alone: the other may be far behind in the file.
    static let aheadAlone = Duration.seconds(20)

    enum Item: Sendable {
        case packet(InputPacket, time: Duration, arrival: Instant)
        /// What follows begins anew.
        case flush
    }

    private struct Line {
        var items: [Item] = []
        var head = 0

        var isEmpty: Bool { head == items.count }
        var first: Item? { isEmpty ? nil : items[head] }

        var span: Duration {
            func time(_ item: Item?) -> Duration? { if case .packet(_, let time, _)? = item { time } else { nil } }
            guard let oldest = time(first), let newest = time(items.last) else { return .zero }
            return newest - oldest
        }

        mutating func removeFirst() {
            head += 1
            // Not one by one: an array moves all that follow.
            if head > 256 || head == items.count {
                items.removeFirst(head)
                head = 0
            }
        }
    }

    private struct State {
        var lines: [DemuxedPacket.Kind: Line] = [.video: Line(), .audio: Line()]
        var count = 0
        var bytes = 0
        var isEnded = false
        var isClosed = false
        /// The packet with the latest time.
        var newest: (time: Duration, arrival: Instant)?

        var isFull: Bool {
            if count >= PacketQueue.mostPackets || bytes >= PacketQueue.mostBytes { return true }
            let spans = lines.values.map(\.span)
            let isBoth = lines.values.allSatisfy { !$0.isEmpty }
            return (isBoth ? spans.min() : spans.max()) ?? .zero
                >= (isBoth ? PacketQueue.ahead : PacketQueue.aheadAlone)
        }
    }

    private let state = Condition(State())
    private let limit: Duration?

    /// - Parameter alone: the input has one stream only, which is read ahead no further than two would be.
    init(alone: Bool = false) { limit = alone ? Self.ahead : nil }

    // MARK: - The reader

    /// Adds an item, and waits while the queue is full. Returns false after `close`, and once `mayWait` is false.
    func put(_ item: Item, _ kind: DemuxedPacket.Kind, while mayWait: () -> Bool = { true }) -> Bool {
        while mayWait() {
            let isPut = state.wait(until: MonotonicClock.now() + .milliseconds(100)) { state in
                add(item, kind, &state)
            }
            if let isPut { return isPut }
        }
        return false
    }

    private func add(_ item: Item, _ kind: DemuxedPacket.Kind, _ state: inout State) -> Bool? {
        if state.isClosed { return false }
        if state.isFull || limit.map({ (state.lines[kind]?.span ?? .zero) >= $0 }) ?? false { return nil }
        state.lines[kind]?.items.append(item)
        state.count += 1
        if case .packet(let packet, let time, let arrival) = item {
            state.bytes += packet.byteCount
            if state.newest.map({ $0.time <= time }) ?? true { state.newest = (time, arrival) }
        }
        return true
    }

    /// Nothing follows; what waits is played.
    func end() { state.withLock(waking: .all) { $0.isEnded = true } }

    // MARK: - The player

    enum Head: Sendable {
        case item(Item, DemuxedPacket.Kind)
        /// Nothing waits at present.
        case nothing
        case ended
    }

    /// The item that is due first; it stays in the queue.
    var head: Head {
        state.withLock { state in
            if state.isClosed { return .ended }
            var best: (item: Item, kind: DemuxedPacket.Kind, time: Duration)?
            for (kind, line) in state.lines {
                switch line.first {
                case nil: continue
                case .flush?: return .item(.flush, kind)
                case .packet(_, let time, _)?:
                    if best.map({ time < $0.time }) ?? true { best = line.first.map { ($0, kind, time) } }
                }
            }
            guard let best else { return state.isEnded ? .ended : .nothing }
            return .item(best.item, best.kind)
        }
    }

    func removeFirst(_ kind: DemuxedPacket.Kind) {
        state.withLock(waking: .all) { state in
            guard let first = state.lines[kind]?.first else { return }
            if case .packet(let packet, _, _) = first { state.bytes -= packet.byteCount }
            state.count -= 1
            state.lines[kind]?.removeFirst()
        }
    }

    /// The packet with the latest time that has come.
    var newest: (time: Duration, arrival: Instant)? { state.withLock { $0.newest } }
    var isEnded: Bool { state.withLock { $0.isEnded || $0.isFull } }

    // MARK: - Both

    /// Ends both sides at once.
    func close() { state.withLock(waking: .all) { $0.isClosed = true } }
}
