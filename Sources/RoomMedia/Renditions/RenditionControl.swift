package import Basics

/// Decides what one rendition encodes: which pictures, which of them as keyframes, and at what rate. A value without an
/// encoder, so that the simulations run the same rules as the rooms.
package struct RenditionControl: Sendable {
    /// The least time between two keyframes: one serves all requests within it.
    static let keyframeDistance = Duration.milliseconds(500)
    /// Requests that only repair a loss share this many keyframes at once …
    static let keyframeAllowance = 3.0
    /// … and gain one more in each of these periods: at 5–8 times a frame's bits, a keyframe every two seconds costs
    /// the other members a tenth of the rate.
    static let keyframeRefill = Duration.seconds(2)
    /// The time between two encodes of an unchanged canvas.
    static let keepAlive = Duration.seconds(1)
    /// The time between a recording's keyframes, so that players can seek in the file.
    static let recordingKeyframeInterval = Duration.seconds(10)
    /// The share of a video stream on the link that packet headers leave: 75 bytes on packets of about 1000.
    static let headers = 0.92
    /// A smaller share of the members than this cannot pull the rate below `leastForMany`: those members move to
    /// another rung instead.
    static let minority = 0.25
    static let leastForMany = 0.9
    /// The lowest rate of an encoder, as a share of its rung's.
    static let least = RenditionSelector.Configuration().lowest
    /// The time that a still may take on the weakest link, less than half of the time between two: the rest is for its
    /// repair, and the still arrives while it is current …
    static let stillTime = Duration.milliseconds(1500)
    /// … but its bits never fall below this share of its rung's, at which the picture is still recognizable.
    static let leastOfStill = 0.35

    package let rung: Ladder.Rung
    /// Whether the rendition has stills instead of motion.
    package let isStills: Bool

    /// Whether a recording takes the frames.
    package var isRecorded = false

    /// The bit rate that each member's link leaves for video; nil: no limit (a recording, or not yet known).
    private var members: [String: BitRate?] = [:]
    private var wantsKeyframe = true
    private var isUrgent = true
    private var allowance = keyframeAllowance
    private var refilled: Instant?
    private var lastKeyframe: Instant?
    private var lastEncode: Instant?
    private var encodedGeneration: UInt64 = 0

    package init(rung: Ladder.Rung, isStills: Bool) {
        self.rung = rung
        self.isStills = isStills
    }

    /// The largest packet payload in bytes: on a link that carries stills a full packet would hold up the audio for 150
    /// ms.
    package var maxPayload: Int { isStills ? 500 : 1100 }

    // MARK: - Members

    package var memberCount: Int { members.count }
    package var isEmpty: Bool { members.isEmpty }
    package func contains(_ member: String) -> Bool { members[member] != nil }

    /// - Parameter budget: the bit rate that the member's link carries beside its audio.
    package mutating func join(_ member: String, budget: BitRate?) { members[member] = .some(budget) }
    package mutating func leave(_ member: String) { members[member] = nil }

    package mutating func setBudget(_ budget: BitRate, of member: String) {
        if members[member] != nil { members[member] = .some(budget) }
    }

    /// The encoder's bit rate: the weakest link's budget, except that a few weak links do not lower the rate of many.
    ///
    /// For stills, which the encoder takes for one frame a second, this is the bits of one.
    package var rate: BitRate {
        let share = isStills ? Self.headers * Self.stillTime.inSeconds : Self.headers
        let budgets = members.values.map { $0.map { $0 * share } ?? rung.bitRate }.sorted()
        guard let weakest = budgets.first else { return rung.bitRate }
        let majority = budgets[Int(Double(budgets.count - 1) * Self.minority)]
        var wanted = min(weakest, rung.bitRate)
        if budgets.count > 3 { wanted = max(wanted, min(majority, rung.bitRate * Self.leastForMany)) }
        return min(rung.bitRate, max(wanted, rung.bitRate * (isStills ? Self.leastOfStill : Self.least * Self.headers)))
    }

    // MARK: - Keyframes

    /// - Parameter isStart: for a member that joins, which sees nothing new without a keyframe; other requests repair a
    ///   loss and share a budget.
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
        // A lost still is repaired or replaced by the next one; an extra one between them would take the audio's share
        // of the link.
        if isStills { return tick - lastEncode >= Ladder.stillInterval || isUrgent && keyframeIsDue(at: tick) }
        if keyframeIsDue(at: tick) { return true }
        // Half a tick of slack: ticks of 33.3 ms must give every second one to a rendition of 15 frames/s.
        let period = Duration.nanoseconds(1_000_000_000 / Int64(max(rung.framesPerSecond, 1))) - .milliseconds(8)
        guard tick - lastEncode >= period else { return false }
        return generation != encodedGeneration || tick - lastEncode >= Self.keepAlive
    }

    /// Notes that the picture of this tick goes to the encoder's queue.
    package mutating func noteQueued(picture generation: UInt64, at tick: Instant) {
        lastEncode = tick
        encodedGeneration = generation
    }

    /// Returns whether the encoder is to make the picture a keyframe, and counts that keyframe as made.
    package mutating func takeKeyframe(at tick: Instant) -> Bool {
        guard isStills || keyframeIsDue(at: tick) else { return false }
        noteKeyframe(at: tick)
        return true
    }

    /// Notes a keyframe, requested or not, which serves all members.
    package mutating func noteKeyframe(at tick: Instant) {
        guard lastKeyframe != tick else { return }
        allowance = max(0, allowance(at: tick) - 1)
        refilled = tick
        lastKeyframe = tick
        wantsKeyframe = false
        isUrgent = false
    }

    /// Notes that the encoder skipped the frame to hold its rate: the next tick's picture is encoded even if unchanged.
    package mutating func noteSkipped(isKeyframe: Bool) {
        encodedGeneration = .max
        if isKeyframe { noteLostKeyframe() }
    }

    /// Requests the keyframe again that the encoder did not make.
    package mutating func noteLostKeyframe() {
        wantsKeyframe = true
        isUrgent = true
    }
}
