import Basics
import Codecs
import FoundationEssentials
import Streaming
package import Synchronization
package import Threads

/// An input that is pulled: opens its source, plays it, and opens it again when it is lost. It has two threads of its
/// own, one that reads and one that plays, and no other thread ever waits for them. What reads and decodes the source is
/// a process without rights (`SourceProcess`), to which these two threads talk.
package final class PulledInput: Sendable {
    package struct Request: Sendable {
        package var address: InputAddress
        /// Whether a source with an end starts again there.
        package var loops: Bool
        /// How long a lost source is tried again.
        package var retryFor: Duration

        package init(address: InputAddress, loops: Bool, retryFor: Duration) {
            (self.address, self.loops, self.retryFor) = (address, loops, retryFor)
        }
    }

    /// Decoding an input gives way to the pool's work, whose threads have 5.
    private static let niceness: Int32 = 6

    package let request: Request
    package let receivedBytes = Atomic<Int>(0)
    package let losses = Atomic<Int>(0)
    private let opener: InputOpener
    private let interrupt = ReadInterrupt { MonotonicClock.now() }
    private let sink: Confined<any InputSink>
    private let current: Guarded<InputStatus>
    private let changed: @Sendable (InputStatus) -> Void

    /// - Parameters:
    ///   - sink: used by the input's threads only, from `start` on.
    ///   - changed: called with each new state, on a thread of the input.
    package init(
        _ request: Request, opener: InputOpener, sink: Confined<any InputSink>,
        changed: @escaping @Sendable (InputStatus) -> Void
    ) {
        (self.request, self.opener, self.sink, self.changed) = (request, opener, sink, changed)
        current = Guarded(InputStatus(since: Date()))
    }

    package var status: InputStatus { current.withLock { $0 } }

    package func start() {
        if !DedicatedThread.start("input", { [self] in run() }) { set(.failed, reason: Self.noThread) }
    }

    private static let noThread = "the system allows no more threads"

    /// Ends the input; its threads end soon afterwards. Never blocks.
    package func stop() { interrupt.cancel() }

    private func set(
        _ phase: InputStatus.Phase, attempts: Int = 0, reason: String? = nil,
        having media: (video: Bool, audio: Bool)? = nil
    ) {
        if interrupt.isCancelled { return }
        let new = current.withLock { status in
            if status.phase != phase { status.since = Date() }
            (status.phase, status.attempts, status.reason) = (phase, attempts, reason)
            status.take(media, attempts: attempts)
            return status
        }
        changed(new)
    }

    // MARK: - The reading thread

    private enum Outcome {
        case ended
        /// It is to start from its beginning.
        case over
        case lost(any Error)
    }

    private func run() {
        var ladder = RetryLadder(for: request.retryFor)
        while !interrupt.isCancelled {
            switch attempt(&ladder) {
            case .ended: return set(.ended)
            case .over: continue
            case .lost(let error):
                if interrupt.isCancelled { return }
                losses.wrappingAdd(1, ordering: .relaxed)
                let reason = text(of: error)
                guard !isFinal(error), case .retry(let due) = ladder.failed(at: MonotonicClock.now()) else {
                    return set(.failed, reason: reason)
                }
                set(.retrying, attempts: ladder.attempts, reason: reason)
                sleep(until: due)
            }
        }
    }

    /// The reason without what is secret in the URL.
    private func text(of error: any Error) -> String {
        if case .url(let url) = request.address, !(error is StreamingError) { return url.redacting("\(error)") }
        return "\(error)"
    }

    private func isFinal(_ error: any Error) -> Bool {
        if (error as? any FinalError)?.isFinal ?? false { return true }
        if case .file = request.address { return true }
        switch error as? DemuxError {
        case .redirected: return true
        case .noMedia: return !request.address.isLive
        default: return false
        }
    }

    private func sleep(until due: Instant) {
        while !interrupt.isCancelled, MonotonicClock.now() < due {
            MonotonicClock.sleep(until: min(due, MonotonicClock.now() + .milliseconds(100)))
        }
    }

    /// Opens the source and reads it to its end.
    private func attempt(_ ladder: inout RetryLadder) -> Outcome {
        let demuxer: RemoteDemuxer
        do {
            demuxer = try opener.open(request.address, interrupt)
        } catch {
            return .lost(error)
        }
        defer { demuxer.close() }
        ladder.connected(at: MonotonicClock.now())
        set(.live, having: (demuxer.video != nil, demuxer.audio != nil))
        let queue = PacketQueue(alone: demuxer.video == nil || demuxer.audio == nil)
        let isOver = Condition(false)
        let player = Confined(
            InputPlayer(
                queue, video: demuxer.video, audio: demuxer.audio, sink: sink.value,
                isLive: request.address.isLive))
        let isStarted = DedicatedThread.start("input player", niceness: Self.niceness) {
            player.value.run()
            isOver.withLock(waking: .all) { $0 = true }
        }
        guard isStarted else { return .lost(DemuxError.failed(Self.noThread)) }
        let outcome = read(demuxer, into: queue)
        if case .lost = outcome { queue.close() } else { queue.end() }
        // The player looks at the queue all the time; a cancelled input is not played to its end.
        while isOver.wait(until: MonotonicClock.now() + .milliseconds(100), { $0 ? true : nil }) != true {
            if interrupt.isCancelled { queue.close() }
        }
        return outcome
    }

    private func read(_ demuxer: RemoteDemuxer, into queue: PacketQueue) -> Outcome {
        var timeline = MediaTimeline()
        var isFirst = true
        do {
            while true {
                interrupt.setDeadline(MonotonicClock.now() + InputOpener.silence(request.address))
                guard let packet = try demuxer.next() else {
                    guard demuxer.isFinite, !isFirst else {
                        throw DemuxError.failed(isFirst ? "the source is empty" : "the source has ended")
                    }
                    if !request.loops { return .ended }
                    // Some formats cannot; their sources are opened anew.
                    guard try demuxer.rewind() else { return .over }
                    timeline.restart()
                    isFirst = true
                    guard put(.flush, .video, queue), put(.flush, .audio, queue) else { throw DemuxError.cancelled }
                    continue
                }
                isFirst = false
                receivedBytes.wrappingAdd(packet.byteCount, ordering: .relaxed)
                let placed = timeline.place(packet.kind, at: packet.time, lasting: packet.duration)
                if packet.time != nil {
                    packet.shift(by: placed.shift)
                } else if packet.kind == .video {
                    packet.setTime(placed.time)
                }
                let item = PacketQueue.Item.packet(packet, time: placed.time, arrival: MonotonicClock.now())
                guard put(item, packet.kind, queue) else { throw DemuxError.cancelled }
            }
        } catch {
            return .lost(error)
        }
    }

    private func put(_ item: PacketQueue.Item, _ kind: DemuxedPacket.Kind, _ queue: PacketQueue) -> Bool {
        queue.put(item, kind, while: { !interrupt.isCancelled })
    }
}
