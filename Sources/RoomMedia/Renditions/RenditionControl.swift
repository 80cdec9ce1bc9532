import Basics

/// What one rendition encodes: which pictures, which of them as keyframes, and at what rate. A value without an
/// encoder, so that the simulations run the very rules of the rooms.
package struct RenditionControl: Sendable {
    /// Two keyframes are at least so far apart: one serves all who ask within that time.
    static let keyframeDistance = Duration.milliseconds(500)
    /// Those who only repair a loss share this many keyframes at once …
    static let keyframeAllowance = 3.0
    /// … and get one more each: at 5–8 times a frame's bits, one in two seconds costs the others a tenth of the rate.
    static let keyframeRefill = Duration.seconds(2)
    /// An unchanged canvas is encoded only so often.
    static let keepAlive = Duration.seconds(1)
    /// Whoever records gets a keyframe so often, so that the file can be seeked in.
    static let recordingKeyframeInterval = Duration.seconds(10)
    /// Packet headers' share of a video stream on the line: 75 bytes on packets of about 1000.
    static let headers = 0.92
    /// Fewer than this part of the members cannot take the rate below `leastForMany`: they are moved to another rung
    /// instead.
    static let minority = 0.25
    static let leastForMany = 0.9
    /// No encoder goes below this share of its rung's rate.
    static let least = RenditionSelector.Configuration().lowest
    /// A slide takes its line for so long, less than half of the time between two: what is left over repairs it, and it
    /// comes while it is true …
    static let slideTime = Duration.milliseconds(1500)
    /// … but below this share of its rung's bits nothing can be told on it.
    static let leastOfSlide = 0.35

    package let rung: Ladder.Rung
    /// One sharp picture now and then instead of motion.
    package let isSlides: Bool

    /// Somebody writes the frames to a file.
    package var isRecorded = false

    /// What each member's line leaves for video; nil: no limit (a recording, or not yet known).
    private var members: [String: BitRate?] = [:]
    private var wantsKeyframe = true
    private var isUrgent = true
    private var allowance = keyframeAllowance
    private var refilled: Instant?
    private var lastKeyframe: Instant?
    private var lastEncode: Instant?
    private var encodedGeneration: UInt64 = 0

    package init(rung: Ladder.Rung, isSlides: Bool) {
        self.rung = rung
        self.isSlides = isSlides
    }

    /// The largest packet payload in bytes: on a line that carries slides a full packet would hold up the sound for 150
    /// ms.
    package var maxPayload: Int { isSlides ? 500 : 1100 }

    // MARK: - Members

    package var memberCount: Int { members.count }
    package var isEmpty: Bool { members.isEmpty }
    package func contains(_ member: String) -> Bool { members[member] != nil }

    /// - Parameter budget: what the member's line carries beside its sound.
    package mutating func join(_ member: String, budget: BitRate?) { members[member] = .some(budget) }
    package mutating func leave(_ member: String) { members[member] = nil }

    package mutating func setBudget(_ budget: BitRate, of member: String) {
        if members[member] != nil { members[member] = .some(budget) }
    }

    /// The rate that the encoder is to have: what the weakest line bears; but a few weak lines do not spoil it for
    /// many.
    ///
    /// Of slides, one a second in the encoder's eyes: the bits of one.
    package var rate: BitRate {
        let share = isSlides ? Self.headers * Self.slideTime.inSeconds : Self.headers
        let budgets = members.values.map { $0.map { $0 * share } ?? rung.bitRate }.sorted()
        guard let weakest = budgets.first else { return rung.bitRate }
        let majority = budgets[Int(Double(budgets.count - 1) * Self.minority)]
        var wanted = min(weakest, rung.bitRate)
        if budgets.count > 3 { wanted = max(wanted, min(majority, rung.bitRate * Self.leastForMany)) }
        return min(rung.bitRate, max(wanted, rung.bitRate * (isSlides ? Self.leastOfSlide : Self.least * Self.headers)))
    }

    // MARK: - Keyframes

    /// - Parameter isStart: for a joiner or mover, who sees nothing new without; others repair a loss and share a
    ///   budget.
    package mutating func requestKeyframe(isStart: Bool) {
        wantsKeyframe = true
        if isStart { isUrgent = true }
    }

    private func keyframeIsDue(at now: Instant) -> Bool {
        if isRecorded, let lastKeyframe, now - lastKeyframe >= Self.recordingKeyframeInterval { return true }
        guard wantsKeyframe else { return false }
        guard let lastKeyframe else { return true }
        guard now - lastKeyframe >= Self.keyframeDistance else { return false }
        return isUrgent || allowance(at: now) >= 1
    }

    private func allowance(at now: Instant) -> Double {
        let earned = refilled.map { (now - $0).inSeconds / Self.keyframeRefill.inSeconds } ?? 0
        return min(Self.keyframeAllowance, allowance + earned)
    }

    // MARK: - Pictures

    /// Whether the picture of this tick is to be encoded. `generation` changes whenever the canvas does.
    package func wantsPicture(at tick: Instant, generation: UInt64) -> Bool {
        guard !members.isEmpty else { return false }
        guard let lastEncode else { return true }
        // A lost slide is repaired or replaced by the next one; another between them would cost the sound.
        if isSlides { return tick - lastEncode >= Ladder.slideInterval || isUrgent && keyframeIsDue(at: tick) }
        if keyframeIsDue(at: tick) { return true }
        // Half a tick of slack: ticks of 33.3 ms must give every second one to a rendition of 15 frames/s.
        let period = Duration.nanoseconds(1_000_000_000 / Int64(max(rung.framesPerSecond, 1))) - .milliseconds(8)
        guard tick - lastEncode >= period else { return false }
        return generation != encodedGeneration || tick - lastEncode >= Self.keepAlive
    }

    /// The picture of this tick goes to the encoder's queue.
    package mutating func took(picture generation: UInt64, at tick: Instant) {
        lastEncode = tick
        encodedGeneration = generation
    }

    /// The encoder takes the picture: whether as a keyframe.
    package mutating func takeKeyframe(at tick: Instant) -> Bool {
        guard isSlides || keyframeIsDue(at: tick) else { return false }
        made(keyframeAt: tick)
        return true
    }

    /// A keyframe was made, asked for or not; it serves everyone.
    package mutating func made(keyframeAt tick: Instant) {
        guard lastKeyframe != tick else { return }
        allowance = max(0, allowance(at: tick) - 1)
        refilled = tick
        lastKeyframe = tick
        wantsKeyframe = false
        isUrgent = false
    }

    /// The encoder left the frame out to hold its rate: the next tick's picture is wanted even where nothing changed.
    package mutating func leftOut(isKeyframe: Bool) {
        encodedGeneration = .max
        if isKeyframe { lostKeyframe() }
    }

    /// The encoder failed to make it.
    package mutating func lostKeyframe() {
        wantsKeyframe = true
        isUrgent = true
    }
}
