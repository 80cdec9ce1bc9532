import Basics
import Codecs
import Foundation
import Peer

/// Measures the longest time without the other's audio: packets with its tone must come every 20 ms.
///
/// A packet with silence or other audio counts as missing, so audio that the server did not receive, or mixed wrongly,
/// is a gap too.
final class AudioMeter: Sendable {
    private struct State {
        var decoder: Opening<OpusDecoder>?
        var samples: [Float] = []
        var sequence: Int64?
        var lost = 0
        var gap: LongestGap
    }

    /// The other's tone in Hz.
    private let tone: Double
    /// The threshold, a tenth of the sent amplitude; silence and noise have less.
    private static let audible: Float = 0.03
    private let state: Guarded<State>

    init(tone: Double, at now: Instant) {
        self.tone = tone
        state = Guarded(State(gap: LongestGap(last: now)))
    }

    func take(_ packet: ReceivedAudioPacket) {
        guard !packet.isCopy else { return }
        state.withLock { state in
            if let last = state.sequence, packet.sequence > last + 1 { state.lost += Int(packet.sequence - last - 1) }
            state.sequence = max(state.sequence ?? packet.sequence, packet.sequence)
            if state.decoder == nil { state.decoder = (try? OpusDecoder()).map { Opening($0) } }
            state.samples.removeAll(keepingCapacity: true)
            try? state.decoder?.value.decode(packet.payload, into: &state.samples)
            if Self.amplitude(of: tone, in: state.samples) > Self.audible { state.gap.note(packet.arrival) }
        }
    }

    /// The longest gap in milliseconds since `mark`, and the lost packets.
    func read(at now: Instant) -> (gap: Double, lost: Int) { state.withLock { ($0.gap.read(at: now), $0.lost) } }

    func mark() {
        state.withLock {
            $0.gap.mark()
            $0.lost = 0
        }
    }

    /// Goertzel's filter at 48 kHz.
    private static func amplitude(of tone: Double, in samples: [Float]) -> Float {
        guard !samples.isEmpty else { return 0 }
        let coefficient = Float(2 * cos(2 * Double.pi * tone / 48_000))
        var (before, last): (Float, Float) = (0, 0)
        for sample in samples { (before, last) = (last, sample + coefficient * last - before) }
        let power = last * last + before * before - coefficient * last * before
        return 2 * max(0, power).squareRoot() / Float(samples.count)
    }
}

/// Measures the longest time without a change in the other's tile. The other's picture changes its brightness with
/// every frame.
final class PictureMeter: Sendable {
    private struct State {
        var decoder: Opening<VideoDecoder>?
        /// The middle of the other's tile, in fractions of the canvas.
        var place: (x: Double, y: Double)?
        var luma = -1
        var gap: LongestGap
    }

    private static let visible = 6
    private let state: Guarded<State>

    init(at now: Instant) { state = Guarded(State(gap: LongestGap(last: now))) }

    func look(at x: Double, _ y: Double) { state.withLock { $0.place = (x, y) } }

    func take(_ frame: ReceivedVideoFrame) {
        state.withLock { state in
            if state.decoder == nil {
                state.decoder = (try? VideoDecoder(codec: frame.frame.codec)).map { Opening($0) }
            }
            guard let picture = try? state.decoder?.value.decode(frame.frame), let place = state.place else { return }
            let luma = Self.brightness(picture, place)
            guard abs(luma - state.luma) >= Self.visible else { return }
            state.luma = luma
            state.gap.note(frame.arrival)
        }
    }

    /// The longest gap in milliseconds since `mark`.
    func read(at now: Instant) -> Double { state.withLock { $0.gap.read(at: now) } }
    func mark() { state.withLock { $0.gap.mark() } }

    private static func brightness(_ picture: Picture, _ place: (x: Double, y: Double)) -> Int {
        let left = min(max(Int(place.x * Double(picture.width)) - 4, 0), max(picture.width - 8, 0))
        let top = min(max(Int(place.y * Double(picture.height)) - 4, 0), max(picture.height - 8, 0))
        var sum = 0
        for row in top..<min(top + 8, picture.height) {
            for column in left..<min(left + 8, picture.width) { sum += Int(picture.y[row * picture.yStride + column]) }
        }
        return sum / 64
    }
}

/// Measures the longest time between two events.
struct LongestGap {
    private var last: Instant
    private var longest = Duration.zero
    /// Whether there was an event yet.
    private(set) var hasBegun = false

    init(last: Instant) { self.last = last }

    mutating func note(_ instant: Instant) {
        if hasBegun { longest = max(longest, instant - last) }
        hasBegun = true
        last = max(last, instant)
    }

    /// The longest gap in milliseconds, including one that has not ended.
    func read(at now: Instant) -> Double { max(longest, now - last).inMilliseconds }

    /// Resets the measurement; a gap that has not ended keeps its start.
    mutating func mark() { longest = .zero }
}

/// A decoder behind a lock. `@unchecked Sendable`: it is used with that lock held only.
struct Opening<Value: AnyObject>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
