package import Basics

/// Decides what one rendition encodes: which pictures, which of them as keyframes, and at what rate. A value without an
/// encoder, so that the simulations run the same rules as the rooms.
package struct RenditionControl: Sendable {
    /// The least time between two keyframes: one serves all requests within it.
    static let keyframeDistance = Duration.milliseconds(500)
    /// The same for the joining rendition, whose members have no picture before.
    static let joiningDistance = Duration.milliseconds(200)
    /// Members that join wait until the last keyframe is this old, unless another is made before: those who are there
    /// already pay for one in this time, however many join. With the way to the peer that is 5 s.
    static let joinInterval = Duration.milliseconds(4900)
    /// A new rendition's members all come now, and none has a picture to lose yet.
    static let startPhase = Duration.seconds(2)
    /// Requests that only repair a loss share this many keyframes at once …
    static let keyframeAllowance = 3.0
    /// … and gain one more in each of these periods: at 5–8 times a frame's bits, a keyframe every two seconds costs
    /// the other members a tenth of the rate.
    static let keyframeRefill = Duration.seconds(2)
    /// The time between two encodes of an unchanged canvas.
    static let keepAlive = Duration.seconds(1)
    /// The share of a video stream on the link that packet headers leave: 75 bytes on packets of about 1000 …
    static let headers = 0.92
    /// … and on the small ones of stills.
    static let headersOfStills = 0.81
    /// A smaller share of the members than this cannot pull the rate below `leastForMany`: those members move to
    /// another rung instead.
    static let minority = 0.25
    static let leastForMany = 0.9
    /// The time that a still may take on the weakest link, less than half of the time between two: the rest is for its
    /// repair, and the still arrives while it is current.
    static let stillTime = Duration.milliseconds(1500)

    package let rung: Ladder.Rung
    package let kind: RenditionKind

    /// The bit rate that each member's link leaves for video; nil: no limit (a recording, or not yet known).
    private var members: [String: BitRate?] = [:]
    /// What the members that are taps need.
    private var taps: [String: TapNeeds] = [:]
    /// The members that wait for a keyframe with another picture, or for a short time.
    private var waiting: Set<String> = []
    private var wantsRepair = false
    private var isUrgent = false
    private var allowance = keyframeAllowance
    private var refilled: Instant?
    private var firstKeyframe: Instant?
    private var lastKeyframe: Instant?
    private var lastEncode: Instant?
    private var encodedGeneration: UInt64 = 0

    package init(rung: Ladder.Rung, kind: RenditionKind) {
        self.rung = rung
        self.kind = kind
    }

    /// The bit rate that the weakest member's link leaves for frames, packet headers apart; nil where no link is known.
    package var leastBudget: BitRate? { members.values.compactMap { $0 }.min().map { $0 * Self.headers } }

    /// Whether the rendition has stills instead of motion.
    private var isStills: Bool { kind == .stills }

    /// The largest packet payload in bytes: on a link of 60 kbit/s a full packet would hold up the audio for 150 ms, on
    /// one of 32 for 300.
    package var maxPayload: Int { isStills ? 320 : 1100 }

    // MARK: - Members

    package var memberCount: Int { members.count }
    package var isEmpty: Bool { members.isEmpty }
    package func contains(_ member: String) -> Bool { members[member] != nil }

    /// - Parameter budget: the bit rate that the member's link carries beside its audio.
    package mutating func join(_ member: String, budget: BitRate?) { members[member] = .some(budget) }
    /// Adds a member that takes the frames elsewhere than over a peer's link.
    package mutating func tap(_ member: String, _ needs: TapNeeds) {
        join(member, budget: nil)
        taps[member] = needs
    }
    package mutating func leave(_ member: String) {
        members[member] = nil
        taps[member] = nil
        waiting.remove(member)
    }

    package mutating func setBudget(_ budget: BitRate, of member: String) {
        if members[member] != nil { members[member] = .some(budget) }
    }

    /// The encoder's bit rate: the weakest link's budget, except that a few weak links do not lower the rate of many.
    ///
    /// For stills, which the encoder takes for one frame a second, this is the bits of one.
    package var rate: BitRate {
        let share = isStills ? Self.headersOfStills * Self.stillTime.inSeconds : Self.headers
        let budgets = members.values.map { $0.map { $0 * share } ?? rung.untriedBitRate }.sorted()
        guard let weakest = budgets.first else { return rung.untriedBitRate }
        let majority = budgets[Int(Double(budgets.count - 1) * Self.minority)]
        var wanted = min(weakest, rung.bitRate)
        // Nobody stays in the joining rendition for long, and it must not flood a link that is not known yet.
        if budgets.count > 3, kind != .joining {
            wanted = max(wanted, min(majority, rung.bitRate * Self.leastForMany))
        }
        return min(rung.bitRate, max(wanted, rung.leastBitRate))
    }

    // MARK: - Keyframes

    /// Requests a keyframe for a member that joins. Returns the time to that keyframe at most, which all who join until
    /// then share.
    package mutating func awaitKeyframe(_ member: String, at now: Instant) -> Duration {
        if members[member] != nil { waiting.insert(member) }
        guard let lastKeyframe else { return .zero }
        if let firstKeyframe, now < firstKeyframe + Self.startPhase { isUrgent = true }
        return max(.zero, dueForWaiting(after: lastKeyframe) - now)
    }

    /// - Parameter isUrgent: for a member that cannot wait; other requests repair a loss and share a budget.
    package mutating func requestKeyframe(isUrgent: Bool) {
        if isUrgent { self.isUrgent = true } else { wantsRepair = true }
    }

    private var distance: Duration { kind == .joining ? Self.joiningDistance : Self.keyframeDistance }

    /// The time of the keyframe for the members that wait.
    private func dueForWaiting(after last: Instant) -> Instant {
        let isSoon = isUrgent || kind == .joining || waiting.count >= members.count
        return last + (isSoon ? distance : Self.joinInterval)
    }

    private func keyframeIsDue(at now: Instant) -> Bool {
        guard let lastKeyframe else { return true }
        // Half a tick of slack, as for frames.
        if let longest = taps.values.map(\.keyframeInterval).min(), now - lastKeyframe >= longest - .milliseconds(8) {
            return true
        }
        guard now - lastKeyframe >= distance else { return false }
        return isUrgent || !waiting.isEmpty && now >= dueForWaiting(after: lastKeyframe)
            || wantsRepair && allowance(at: now) >= 1
    }

    private func allowance(at now: Instant) -> Double {
        let earned = refilled.map { (now - $0).inSeconds / Self.keyframeRefill.inSeconds } ?? 0
        return min(Self.keyframeAllowance, allowance + earned)
    }

    // MARK: - Pictures

    /// Whether the picture of this tick is to be encoded. `generation` changes whenever the canvas does.
    package func wantsPicture(at tick: Instant, generation: UInt64) -> Bool {
        if members.isEmpty || kind.isForwarded { return false }
        guard let lastEncode else { return true }
        // A lost still is repaired or replaced by the next one; an extra one between them would take the audio's share
        // of the link.
        if isStills { return tick - lastEncode >= Ladder.stillInterval || isUrgent && keyframeIsDue(at: tick) }
        if keyframeIsDue(at: tick) { return true }
        // Half a tick of slack: ticks of 33.3 ms must give every second one to a rendition of 15 frames/s.
        let period = Duration.nanoseconds(1_000_000_000 / Int64(max(rung.framesPerSecond, 1))) - .milliseconds(8)
        guard tick - lastEncode >= period else { return false }
        return generation != encodedGeneration || tick - lastEncode >= longestPause
    }

    /// The time between two encodes of a picture that stands still.
    private var longestPause: Duration {
        let rate = taps.values.map(\.framesPerSecond).max() ?? 0
        return rate > 1 ? .seconds(1 / rate) - .milliseconds(8) : Self.keepAlive
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

    /// Notes a keyframe, requested or not, which serves all members: when it is begun, and again when it is sent, for
    /// those who joined between.
    package mutating func noteKeyframe(at tick: Instant) {
        waiting.removeAll()
        guard lastKeyframe != tick else { return }
        allowance = max(0, allowance(at: tick) - 1)
        refilled = tick
        firstKeyframe = firstKeyframe ?? tick
        lastKeyframe = tick
        wantsRepair = false
        isUrgent = false
    }

    /// Notes that the encoder skipped the frame to hold its rate.
    package mutating func noteSkipped(isKeyframe: Bool) {
        noteUnfinished()
        if isKeyframe { noteLostKeyframe() }
    }

    /// Notes that the frame does not show all of its picture: the next tick's is encoded even if unchanged.
    package mutating func noteUnfinished() { encodedGeneration = .max }

    /// Requests the keyframe again that the encoder did not make.
    package mutating func noteLostKeyframe() { isUrgent = true }
}
