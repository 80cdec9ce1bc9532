package import Basics
import Codecs
import Dispatch

/// One stream for players of HLS, kept in memory: takes encoded video and audio with their room times, and serves
/// playlists and media.
///
/// The work runs on a queue of its own: no call waits for it, and no reader for another.
package final class HLSStream: Sendable {
    package let id: String
    private let queue: DispatchQueue
    private let memory: HLSMemory
    private let onKeyframeNeeded: @Sendable () -> Void
    private let work: Work
    private let state: Guarded<State>
    private let backlog = Guarded(Backlog())

    private struct State {
        var window: HLSWindow
        var readers = HLSReaders()
        /// Whether `expire` is scheduled.
        var expires = false
        /// Counts the rests; odd: the stream rests.
        var rests = 0
    }

    /// Media that waits for the queue.
    private struct Backlog {
        var bytes = 0
        var skipsToKeyframe = false
    }

    /// `@unchecked Sendable`: used on the stream's queue only.
    private final class Work: @unchecked Sendable {
        var packager: HLSPackager
        let audio: HLSAudio
        init(_ packager: HLSPackager, _ audio: HLSAudio) {
            self.packager = packager
            self.audio = audio
        }
    }

    /// Five seconds at 10 Mbit/s.
    private static let maxBacklog = 6 << 20
    /// A stream that rests forgets its media after this.
    private static let longestRest = DispatchTimeInterval.seconds(60)

    /// - Parameters:
    ///   - id: differs from that of every other stream, and cannot be guessed: letters and digits.
    ///   - epoch: seconds since 1970 at the zero of the room's clock.
    ///   - onKeyframeNeeded: called on the stream's queue.
    /// - Throws: `CodecError` without an AAC encoder.
    package init(
        id: String, epoch: Double, limits: HLSLimits = HLSLimits(), memory: HLSMemory,
        onKeyframeNeeded: @escaping @Sendable () -> Void
    ) throws {
        self.id = id
        self.memory = memory
        self.onKeyframeNeeded = onKeyframeNeeded
        queue = DispatchQueue(label: "hls", qos: .userInitiated)
        let audio = try HLSAudio()
        let window = HLSWindow(id: id, epoch: epoch, limits: limits)
        work = Work(
            HLSPackager(
                window, audioDescription: audio.description, audioBitRate: HLSAudio.bitRate.bitsPerSecond),
            audio)
        state = Guarded(State(window: window))
    }

    deinit { _ = memory.change(by: -state.withLock { $0.window.byteCount }) }

    // MARK: - Media

    /// Appends an H.264 access unit with its room time.
    package func append(_ frame: EncodedVideoFrame) {
        guard frame.codec == .h264, take(frame.data.count, isKeyframe: frame.isKeyframe) else { return }
        run(frame.data.count) { work in
            work.packager.append(frame.data, isKeyframe: frame.isKeyframe, time: frame.timestamp)
        }
    }

    /// Appends mono samples at 48 kHz; `timestamp` is the room time in samples.
    package func append(audio samples: [Float], timestamp: Int64) {
        let size = samples.count * MemoryLayout<Float>.stride
        let isTaken = backlog.withLock { backlog in
            guard backlog.bytes + size <= Self.maxBacklog else { return false }
            backlog.bytes += size
            return true
        }
        guard isTaken else { return }
        run(size) { work in
            // A failure costs these samples.
            try? work.audio.encode(samples, time: timestamp) { packet in
                work.packager.append(audio: packet.data, time: packet.position, count: packet.sampleCount)
            }
        }
    }

    /// Interrupts the stream: no media comes for a while. What there is stays for a minute.
    package func rest() {
        let rest = state.withLock { state in
            if state.rests % 2 == 0 { state.rests += 1 }
            return state.rests
        }
        run(0) { $0.packager.interrupt() }
        queue.asyncAfter(deadline: .now() + Self.longestRest) { [weak self] in
            guard let self, state.withLock({ $0.rests }) == rest else { return }
            work.packager.clear()
            publish()
        }
    }

    /// Media comes again.
    package func resume() { state.withLock { if $0.rests % 2 == 1 { $0.rests += 1 } } }

    /// Ends the stream for its readers.
    package func end() { run(0) { $0.packager.finish() } }

    private func take(_ size: Int, isKeyframe: Bool) -> Bool {
        backlog.withLock { backlog in
            // The frames after a lost one depend on it.
            let mayBegin = isKeyframe && backlog.bytes <= Self.maxBacklog / 2
            guard !backlog.skipsToKeyframe || mayBegin, backlog.bytes + size <= Self.maxBacklog else {
                backlog.skipsToKeyframe = true
                return false
            }
            backlog.skipsToKeyframe = false
            backlog.bytes += size
            return true
        }
    }

    private func run(_ size: Int, _ body: @escaping @Sendable (Work) -> Void) {
        queue.async { [self] in
            body(work)
            if size > 0 { backlog.withLock { $0.bytes -= size } }
            if work.packager.needsKeyframe {
                work.packager.needsKeyframe = false
                onKeyframeNeeded()
            }
            publish()
        }
    }

    // MARK: - Reading

    /// What can be fetched now.
    package var window: HLSWindow { state.withLock { $0.window } }
    /// The number of requests that wait.
    package var waiting: Int { state.withLock { $0.readers.waiting } }

    /// Shows readers what the queue has made.
    private func publish() {
        let window = work.packager.window
        let (before, answers) = state.withLock { state in
            let before = state.window
            if before.isSame(as: window) {
                return (before, [] as [(@Sendable (HLSReaders.Answer) -> Void, HLSReaders.Answer)])
            }
            state.window = window
            return (before, state.readers.take(window))
        }
        for (answer, value) in answers { answer(value) }
        if memory.change(by: window.byteCount - before.byteCount), window.byteCount > before.byteCount {
            work.packager.drop(toBytes: window.byteCount / 2)
            let dropped = work.packager.window
            state.withLock { $0.window = dropped }
            _ = memory.change(by: dropped.byteCount - window.byteCount)
        }
    }

    /// The result of a wait.
    package enum Result: Sendable {
        case ready(HLSWindow)
        /// The request is too far ahead, or for what is not there any more.
        case never
        case timeout
    }

    /// Waits until the playlist has a segment, or a part of it; without a number until it is long enough for every player.
    package func playlist(segment: Int?, part: Int?) async -> Result {
        await wait(for: .playlist(segment: segment, part: part))
    }

    /// The data of a file, in pieces. Waits for the part that comes next.
    ///
    /// - Returns: nil where there is no such file (any more).
    package func media(_ file: HLSFile) async -> [[UInt8]]? {
        if case .ready(let window) = await wait(for: .file(file)) { window.media(file) } else { nil }
    }

    private func wait(for want: HLSReaders.Want) async -> Result {
        let number = Guarded<Int?>(nil)
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<HLSReaders.Answer, Never>) in
                let known = state.withLock { state -> HLSReaders.Answer? in
                    if let known = HLSReaders.answer(want, state.window) { return known }
                    if Task.isCancelled { return .timeout }
                    let reader = state.readers.add(want) { continuation.resume(returning: $0) }
                    number.withLock { $0 = reader }
                    expireLater(&state)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: { [state] in
            let answer = state.withLock { state in number.withLock { $0 }.flatMap { state.readers.remove($0) } }
            answer?(.timeout)
        }
        switch answer {
        case .ready(let window): return .ready(window)
        case .never: return .never
        case .timeout: return .timeout
        }
    }

    /// Called with the state locked.
    private func expireLater(_ state: inout State) {
        guard !state.expires else { return }
        state.expires = true
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in self?.expire() }
    }

    private func expire() {
        let answers = state.withLock { state in
            let late = state.readers.expire()
            state.expires = false
            if !state.readers.isEmpty { expireLater(&state) }
            return late
        }
        for (answer, value) in answers { answer(value) }
    }
}

extension HLSWindow {
    /// Whether readers see no difference.
    fileprivate func isSame(as other: HLSWindow) -> Bool {
        nextPart == other.nextPart && segments.count == other.segments.count && isEnded == other.isEnded
            && nextSegment == other.nextSegment && unlisted == other.unlisted
    }
}
