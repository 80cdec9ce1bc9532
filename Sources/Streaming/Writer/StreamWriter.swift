package import Basics
import Codecs
import FoundationEssentials
import Synchronization
import Threads

/// Sends a room's frames and audio to one server, on a thread of its own, and connects again when the connection is
/// lost. No call here waits for the network, except `end`.
package final class StreamWriter: Sendable {
    private let target: StreamTarget
    private let audioConfiguration: [UInt8]
    private let queue = StreamQueue()
    private let interrupt = MediaInterrupt()
    private let state = Guarded(StreamState.connecting)
    private let sent = Atomic<Int>(0)
    private let onKeyframeNeeded: @Sendable () -> Void
    private let onState: @Sendable (StreamState) -> Void
    private let finished = Guarded(Finish())

    private struct Finish {
        var isOver = false
        var waiting: [Promise<Void>] = []
    }

    /// How long a connection may take to be made …
    private static let connecting = Duration.seconds(10)
    /// … a packet to be taken …
    private static let writing = Duration.seconds(5)
    /// … and an end to be told to the server.
    static let closing = Duration.milliseconds(1500)
    /// How long `end` waits: for a look-up of a name, which cannot be interrupted, no longer.
    static let longestEnd = Duration.seconds(2)

    /// - Parameters:
    ///   - audioConfiguration: the AudioSpecificConfig of the packets.
    ///   - onKeyframeNeeded: called when the stream begins or goes on only with a keyframe, on any thread.
    ///   - onState: called with each new state, in order, on the stream's thread.
    package init(
        to target: StreamTarget, audioConfiguration: [UInt8], onKeyframeNeeded: @escaping @Sendable () -> Void,
        onState: @escaping @Sendable (StreamState) -> Void
    ) {
        self.target = target
        self.audioConfiguration = audioConfiguration
        self.onKeyframeNeeded = onKeyframeNeeded
        self.onState = onState
    }

    /// Starts the thread. Returns whether the system could; without it the stream never ends by itself.
    package func start() -> Bool { DedicatedThread.start("stream", niceness: 0) { [self] in run() } }

    package var currentState: StreamState { state.withLock { $0 } }
    /// Bytes of media that the connections took.
    package var bytesSent: Int { sent.load(ordering: .relaxed) }
    /// Frames that were dropped because a connection was too slow.
    package var framesDropped: Int { queue.dropped }

    /// Appends an H.264 access unit with its room time.
    package func append(_ frame: EncodedVideoFrame) {
        if queue.append(.video(frame)) == .overflowed { onKeyframeNeeded() }
    }

    /// Appends an AAC packet with its room time.
    package func append(_ packet: AACFeed.Packet) {
        if queue.append(.audio(packet)) == .overflowed { onKeyframeNeeded() }
    }

    /// Ends the stream, in order where it is live. Returns when its connection is closed, after two seconds at the most.
    package func end() async {
        interrupt.end(within: currentState == .live ? Self.closing : .zero)
        queue.end()
        let end = Promise<Void>()
        let isOver = finished.withLock { finish in
            if !finish.isOver { finish.waiting.append(end) }
            return finish.isOver
        }
        if !isOver { await end.value(within: Self.longestEnd) }
    }

    // MARK: - The thread

    private func run() {
        var ladder = RetryLadder(for: target.retryFor)
        var lostSince: Date?
        loop: while !queue.hasEnded {
            do throws(StreamingError) {
                try connect(attempt: ladder.attempts) {
                    ladder.connected(at: MonotonicClock.now())
                    lostSince = nil
                    set(.live)
                }
            } catch {
                queue.close()
                if queue.hasEnded { break }
                guard error.isPassing else {
                    set(.failed(reason: error.description))
                    break
                }
                switch ladder.failed(at: MonotonicClock.now()) {
                case .giveUp:
                    set(.failed(reason: error.description))
                    break loop
                case .retry(let next):
                    let since = lostSince ?? Date()
                    lostSince = since
                    set(.retrying(since: since, attempts: ladder.attempts, reason: error.description))
                    queue.rest(until: next)
                }
            }
        }
        queue.close()
        if !currentState.isOver { set(.ended) }
        let waiting = finished.withLock { finish in
            finish.isOver = true
            return finish.waiting
        }
        for once in waiting { once.fulfil(()) }
    }

    private func set(_ new: StreamState) {
        state.withLock { $0 = new }
        onState(new)
    }

    /// Connects and sends until the end of the stream; throws where the connection cannot be made or is lost.
    private func connect(attempt: Int, _ onLive: () -> Void) throws(StreamingError) {
        let addresses = try target.policy.resolve(target.url)
        interrupt.permit(Self.connecting)
        let connection = try OutputConnection(target, at: addresses[attempt % addresses.count], interrupt)
        queue.open()
        defer { queue.close() }
        onKeyframeNeeded()
        var sender: StreamSender?
        while !queue.hasEnded {
            for item in queue.next(until: MonotonicClock.now() + .seconds(1)) {
                interrupt.permit(Self.writing)
                if let sender {
                    try sender.send(item)
                } else if case .video(let frame) = item {
                    sender = try StreamSender(
                        connection, to: target.url, first: frame, audioConfiguration: audioConfiguration)
                    if sender != nil { onLive() }
                }
                sent.wrappingAdd(item.size, ordering: .relaxed)
            }
        }
        interrupt.permit(Self.closing)
        try? sender?.finish()
    }
}
