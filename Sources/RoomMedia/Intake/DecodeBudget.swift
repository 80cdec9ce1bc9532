import Basics
import Codecs

/// What all senders together may have decoded: `limits.decodedPixelsPerSecondInAll`.
package final class SharedDecodeBudget: Sendable {
    /// Pictures up to this size are many and small; what larger ones keep is counted.
    static let usualPixels = 1920 * 1088

    private let pixels: Guarded<TokenBucket>
    private let kept = Guarded(0)
    /// Pixels that decoders of large pictures may keep: half a second's worth, 830 MB of the default, which is eleven
    /// senders of 3840 × 2160 with four references.
    private let keptLimit: Int

    package init(pixelsPerSecond: Int, at now: Instant) {
        let rate = Double(max(1, pixelsPerSecond))
        pixels = Guarded(TokenBucket(rate: rate, size: max(rate, Double(VideoFormat.maxPixels)), at: now))
        keptLimit = max(pixelsPerSecond / 2, 6 * VideoFormat.maxPixels)
    }

    /// What a decoder of this format keeps, for as long as the answer lives; nil where that is too much.
    func keep(_ format: VideoFormat) -> KeptPixels? {
        guard format.pixels > Self.usualPixels else { return KeptPixels(0, of: self) }
        // One more is being decoded, and one made smaller for the room.
        let amount = format.pixels * (format.referenceFrames + 2)
        let fits = kept.withLock { kept in
            if kept + amount > keptLimit { return false }
            kept += amount
            return true
        }
        return fits ? KeptPixels(amount, of: self) : nil
    }

    fileprivate func release(_ amount: Int) { kept.withLock { $0 -= amount } }

    /// Pixels of large pictures that are kept now.
    var keptPixels: Int { kept.withLock { $0 } }

    /// Takes `amount` pixels, or refuses them. A sender that is far from its own limit may go on while others are
    /// refused.
    func take(_ amount: Double, isModest: Bool, at now: Instant) -> Bool {
        pixels.withLock { pixels in
            if pixels.take(amount, at: now) { return true }
            // The debt of the modest is at most what comes in within half a second.
            guard isModest, pixels.wait(for: 0, at: now) < .milliseconds(500) else { return false }
            pixels.spend(amount, at: now)
            return true
        }
    }
}

/// Pixels that count until nobody holds this any more.
final class KeptPixels: Sendable {
    private let amount: Int
    private let budget: SharedDecodeBudget

    fileprivate init(_ amount: Int, of budget: SharedDecodeBudget) {
        self.amount = amount
        self.budget = budget
    }

    deinit { budget.release(amount) }
}

/// What one sender may have decoded. A value, asked before each frame.
struct DecodeBudget: Sendable {
    /// Browsers change the size of their pictures a few times in the first seconds of a call, and then when their line
    /// does.
    static let sizeChangesPerSecond = 0.5
    static let sizeChangesAtOnce = 6.0

    private var pixels: TokenBucket
    private var sizes: TokenBucket
    private var last: VideoFormat?

    init(pixelsPerSecond: Int, at now: Instant) {
        let rate = Double(max(1, pixelsPerSecond))
        // One picture of the largest size must fit.
        pixels = TokenBucket(rate: rate, size: max(rate, Double(VideoFormat.maxPixels)), at: now)
        sizes = TokenBucket(rate: Self.sizeChangesPerSecond, size: Self.sizeChangesAtOnce, at: now)
    }

    /// Charges a frame of `format`, or says why it is left out.
    mutating func admit(_ format: VideoFormat, shared: SharedDecodeBudget, at now: Instant) -> DecodeRefusal? {
        if let last, (last.width, last.height) != (format.width, format.height), !sizes.take(at: now) { return .size }
        let amount = Double(format.pixels)
        guard pixels.wait(for: amount, at: now) == .zero else { return .sender }
        let isModest = pixels.wait(for: pixels.size * 0.75, at: now) == .zero
        guard shared.take(amount, isModest: isModest, at: now) else { return .server }
        pixels.spend(amount, at: now)
        last = format
        return nil
    }

    /// How long the sender's frames are left alone after a refusal: until it is worth asking for a keyframe, which
    /// costs everyone.
    func rest(after refusal: DecodeRefusal, at now: Instant) -> Duration {
        switch refusal {
        case .sender: max(.milliseconds(500), pixels.wait(for: pixels.size / 2, at: now))
        case .size: max(.seconds(1), sizes.wait(for: 2, at: now))
        case .server, .memory: .seconds(1)
        case .late, .bytes: .milliseconds(500)
        // What was lost on the line is lost once: the next keyframe is wanted at once.
        case .fault: .zero
        }
    }
}
