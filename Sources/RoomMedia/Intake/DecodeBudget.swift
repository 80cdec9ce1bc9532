package import Basics
import Codecs

/// The decoding that all senders together may cause, in pixels a second (`limits.decodedPixelsPerSecondInAll`), and the
/// memory of their decoders.
package final class SharedDecodeBudget: Sendable {
    /// The memory of decoders of larger pictures than this is counted, in pixels.
    static let usualPixels = 1920 * 1088

    private let pixels: Guarded<TokenBucket>
    private let reserved = Guarded(0)
    /// Pixels that decoders of large pictures may hold: half a second's worth, 830 MB by default, which is eleven
    /// senders of 3840 × 2160 with four references.
    private let reservedLimit: Int

    package init(pixelsPerSecond: Int, at now: Instant) {
        let rate = Double(max(1, pixelsPerSecond))
        pixels = Guarded(TokenBucket(rate: rate, size: max(rate, Double(VideoFormat.maxPixels)), at: now))
        reservedLimit = max(pixelsPerSecond / 2, 6 * VideoFormat.maxPixels)
    }

    /// Reserves the memory of a decoder of this format, as long as the result lives; nil where it exceeds the limit.
    func reserve(_ format: VideoFormat) -> PixelReservation? {
        guard format.pixels > Self.usualPixels else { return PixelReservation(0, of: self) }
        // Beside the references: one picture that is being decoded, and one that is scaled down for the room.
        let amount = format.pixels * (format.referenceFrames + 2)
        let fits = reserved.withLock { reserved in
            if reserved + amount > reservedLimit { return false }
            reserved += amount
            return true
        }
        return fits ? PixelReservation(amount, of: self) : nil
    }

    fileprivate func release(_ amount: Int) { reserved.withLock { $0 -= amount } }

    /// Pixels that decoders of large pictures hold now.
    var reservedPixels: Int { reserved.withLock { $0 } }

    /// Takes `amount` pixels, or returns false. `isModest`: the sender is far below its own limit, and may go on while
    /// others are refused.
    func take(_ amount: Double, isModest: Bool, at now: Instant) -> Bool {
        pixels.withLock { pixels in
            if pixels.take(amount, at: now) { return true }
            // The debt of modest senders is at most what the bucket gains in half a second.
            guard isModest, pixels.wait(for: 0, at: now) < .milliseconds(500) else { return false }
            pixels.spend(amount, at: now)
            return true
        }
    }
}

/// A reservation of pixels, released with the last reference to it.
final class PixelReservation: Sendable {
    private let amount: Int
    private let budget: SharedDecodeBudget

    fileprivate init(_ amount: Int, of budget: SharedDecodeBudget) {
        self.amount = amount
        self.budget = budget
    }

    deinit { budget.release(amount) }
}

/// The pixels a second that are decoded for one sender, all its pictures together.
final class SenderPixels: Sendable {
    private let pixels: Guarded<TokenBucket>

    init(pixelsPerSecond: Int, at now: Instant) {
        let rate = Double(max(1, pixelsPerSecond))
        // One picture of the largest size must fit.
        pixels = Guarded(TokenBucket(rate: rate, size: max(rate, Double(VideoFormat.maxPixels)), at: now))
    }

    /// How long until `amount` may be spent.
    func wait(for amount: Double, at now: Instant) -> Duration { pixels.withLock { $0.wait(for: amount, at: now) } }

    /// The same for a part of what may be spent at once.
    func wait(forPart part: Double, at now: Instant) -> Duration {
        pixels.withLock { $0.wait(for: $0.size * part, at: now) }
    }

    func spend(_ amount: Double, at now: Instant) { pixels.withLock { _ = $0.spend(amount, at: now) } }
}

/// The decoding that one picture of a sender may cause. A value, asked before each frame.
struct DecodeBudget: Sendable {
    /// Browsers change the size of their pictures a few times in the first seconds of a call, and later when their link
    /// changes.
    static let sizeChangesPerSecond = 0.5
    static let sizeChangesAtOnce = 6.0

    private let pixels: SenderPixels
    private var sizes: TokenBucket
    private var last: VideoFormat?

    init(_ pixels: SenderPixels, at now: Instant) {
        self.pixels = pixels
        sizes = TokenBucket(rate: Self.sizeChangesPerSecond, size: Self.sizeChangesAtOnce, at: now)
    }

    /// Charges a frame of `format`, or returns why it is left out.
    mutating func admit(_ format: VideoFormat, shared: SharedDecodeBudget, at now: Instant) -> DecodeRefusal? {
        if let last, (last.width, last.height) != (format.width, format.height), !sizes.take(at: now) { return .size }
        let amount = Double(format.pixels)
        guard pixels.wait(for: amount, at: now) == .zero else { return .sender }
        let isModest = pixels.wait(forPart: 0.75, at: now) == .zero
        guard shared.take(amount, isModest: isModest, at: now) else { return .server }
        pixels.spend(amount, at: now)
        last = format
        return nil
    }

    /// How long the sender's frames are skipped after a refusal, before the next keyframe request: a keyframe costs
    /// all.
    func pause(after refusal: DecodeRefusal, at now: Instant) -> Duration {
        switch refusal {
        case .sender: max(.milliseconds(500), pixels.wait(forPart: 0.5, at: now))
        case .size: max(.seconds(1), sizes.wait(for: 2, at: now))
        case .server, .memory: .seconds(1)
        case .late, .bytes: .milliseconds(500)
        // A loss on the link happens once: the next keyframe is requested at once.
        case .fault: .zero
        }
    }
}
