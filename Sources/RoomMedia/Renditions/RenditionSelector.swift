package import Basics

/// Chooses one peer's step of the ladder by the estimate of its link.
///
/// Down at once, since a growing queue delays the peer's audio; up only after the estimate has been higher for a while,
/// since a step up that must be taken back costs two keyframes.
package struct RenditionSelector: Sendable {
    package enum Choice: Hashable, Sendable {
        /// An index into the ladder, 0 at the top.
        case rung(Int)
        /// Audio, and a still every few seconds.
        case stills
        /// Audio, and some of the stills (``RareStills``).
        case rareStills
        case audioOnly
    }

    /// The choice as clients are told.
    package var mode: LinkMode {
        switch choice {
        case .rung(let index): index > 0 ? .reduced : .full
        case .stills, .rareStills: .stills
        case .audioOnly: .audio
        }
    }

    package struct Configuration: Sendable {
        /// A rung stays down to an estimate of this share of its rate: its encoder's rate follows the estimate.
        package var lowest = 0.75
        /// The same of the lowest rung.
        package var lowestOfLowest = 0.75
        /// A step up needs this many times the next rung's rate: enough not to be taken back at once, and low enough
        /// that the probed estimate of a 2 Mbit/s link reaches the top rung …
        package var headroom = 1.15
        /// … the lowest rung only this, so that 150 kbit/s are enough for motion.
        package var headroomOfLowest = 0.85
        /// … for this long.
        package var stepUpDelay = Duration.seconds(3)
        /// The delay of a step up in the first seconds of a call, in which the estimate has only begun to grow.
        package var earlyStepUpDelay = Duration.milliseconds(300)
        package var earlyPhase = Duration.seconds(6)
        /// The audio's bit rate on the link, headers included.
        package var audio = BitRate.kilobits(28)
        /// Below this estimate all stills would take the audio's share. On links of 60 kbit/s estimates dip to this …
        private(set) var rareStillsBelow = usualRareStillsBelow
        private static let usualRareStillsBelow = BitRate.kilobits(32)
        /// … and on links of 32 they rise to this, but there more gets lost than this part.
        private static let rareStillsBelowWithLoss = BitRate.kilobits(40)
        private static let lossOfThinnestLinks = 0.01
        /// Below this estimate any still would: a link of 30 kbit/s.
        package var audioOnlyBelow = BitRate.kilobits(24)
        /// Stills come back at this many times these rates.
        package var headroomOfStills = 1.15
        /// What the audio takes beyond the rates above, where it goes out several times: above the rare stills.
        private(set) var extraAudio = BitRate.zero
        /// A step down waits for `grace` unless the estimate is below this share of the needed rate: the encoder's rate
        /// follows meanwhile, and a keyframe's burst alone can make the estimate dip.
        package var shortfall = 0.6
        package var grace = Duration.milliseconds(800)
        /// The same for the step from the lowest rung to stills, and from stills to audio alone.
        package var graceOfLowest = Duration.seconds(5)
        package init() {}

        /// Takes what gets lost on the link, and what the audio takes beyond its usual rate (`AudioProfile.extraRate`).
        package mutating func follow(loss: Double, extraAudio: BitRate) {
            rareStillsBelow = loss > Self.lossOfThinnestLinks ? Self.rareStillsBelowWithLoss : Self.usualRareStillsBelow
            self.extraAudio = extraAudio
        }

        /// For a peer whose lowest rung is made in AV1, which shows motion for fewer bits.
        package static let thin = Configuration(lowestOfLowest: 0.5, headroomOfLowest: 0.6)

        /// The same while a screen is shared: it is painted bit by bit (`AV1Encoder`), and what it has in some seconds
        /// can be read, as stills of a smaller size never can.
        package static let thinScreen = Configuration(lowestOfLowest: 0.25, headroomOfLowest: 0.35)

        private init(lowestOfLowest: Double, headroomOfLowest: Double) {
            (self.lowestOfLowest, self.headroomOfLowest) = (lowestOfLowest, headroomOfLowest)
        }
    }

    package struct Change: Hashable, Sendable {
        package var choice: Choice
        package var reason: LinkReason
    }

    package let rates: [BitRate]
    package var configuration: Configuration
    package private(set) var choice: Choice
    /// Why the picture is not the largest; where it is, why it became so. Empty: the call has just begun, and the picture
    /// is getting larger, or it was never anything but the largest.
    package private(set) var reason = LinkReason.none
    private var start: Instant?
    private var betterSince: Instant?
    private var shortSince: Instant?
    private var estimate: BitRate?
    /// The time of the first estimate or of the last step up; nil after a step down.
    private var climbsSince: Instant?
    /// The highest rung that the server offers: an overload removes the upper ones.
    package private(set) var ceiling = 0

    /// `rates`: of the ladder's rungs, from the top down. `estimate`: of the link, where it is known already. Until the first estimate a peer gets the lowest rung: a
    /// joiner sees a picture at once and no link is flooded; the estimate of a good link is there within half a second.
    package init(rates: [BitRate], estimate: BitRate? = nil, configuration: Configuration = Configuration()) {
        self.rates = rates
        self.configuration = configuration
        choice = rates.isEmpty ? .audioOnly : .rung(rates.count - 1)
        self.estimate = estimate
        if let estimate { choice = highestBearable(estimate) }
    }

    /// Sets the highest rung that the server offers. Returns the change of the choice that follows at once.
    package mutating func setCeiling(_ rung: Int) -> Change? {
        ceiling = max(0, min(rung, rates.count - 1))
        guard case .rung(let index) = choice, index < ceiling else { return nil }
        climbsSince = nil
        return move(to: .rung(ceiling), Self.busy)
    }

    /// Takes a new estimate of the link, audio included. Returns the change of the choice, if any.
    package mutating func update(estimate: BitRate, at now: Instant) -> Change? {
        if self.estimate == nil { climbsSince = now }
        self.estimate = estimate
        let old = rank(choice)
        let change = choose(by: estimate, at: now)
        if change != nil { climbsSince = rank(choice) < old ? now : nil }
        explain(at: now)
        return change
    }

    private mutating func choose(by estimate: BitRate, at now: Instant) -> Change? {
        if start == nil { start = now }
        let best = highestBearable(estimate)
        if rank(best) <= rank(choice) {
            shortSince = nil
        } else {
            let since = shortSince ?? now
            shortSince = since
            guard now - since >= grace(of: choice) || estimate < lowestRate(of: choice) * configuration.shortfall else {
                return nil
            }
            return move(
                to: best,
                LinkReason(
                    .linkWorse,
                    "The line's estimate of \(estimate)bit/s is below the \(lowestRate(of: choice))bit/s that \(name(of: choice)) needs."
                ))
        }
        guard let next = stepUp(from: choice), estimate >= needed(for: next) else {
            betterSince = nil
            return nil
        }
        let since = betterSince ?? now
        betterSince = since
        let isEarly = now - (start ?? now) < configuration.earlyPhase
        guard now - since >= (isEarly ? configuration.earlyStepUpDelay : configuration.stepUpDelay) else { return nil }
        // A link that carries the top rung skips those between.
        var target = next
        while let higher = stepUp(from: target), estimate >= needed(for: higher) { target = higher }
        return move(
            to: target,
            LinkReason(
                .linkBetter,
                "The line's estimate of \(estimate)bit/s is enough for \(name(of: target)) (\(needed(for: target))bit/s)."
            ))
    }

    // MARK: - The reason

    private static let busy = LinkReason(.serverBusy, "The server is busy and makes no larger picture.")

    /// Decides anew why the picture is not larger. Called once a second at least: a climb ends, and an overload begins to
    /// hold the picture, without a change of the choice.
    package mutating func explain(at now: Instant) {
        guard case .rung(let index) = choice else {
            if reason.code != .linkWorse, !isClimbing(at: now) { reason = tooThin(for: stepUp(from: choice)) }
            return
        }
        guard index > 0 else { return }
        let larger = Choice.rung(index - 1)
        if index <= ceiling {
            if isHeld(below: larger, at: now) {
                if reason.code != .serverBusy { reason = Self.busy }
            } else if reason.code != .linkWorse {
                reason = tooThin(for: larger)
            }
        } else if let estimate, estimate >= needed(for: larger) {
            if ![.none, .linkBetter, .linkWorse].contains(reason.code) {
                reason = LinkReason(.linkBetter, "The line carries a larger picture, which follows.")
            }
        } else if !isClimbing(at: now) || reason.code == .serverBusy, reason.code != .linkWorse {
            reason = tooThin(for: larger)
        }
    }

    /// Whether the overload, and not the link, keeps the picture from being larger. Between the rate that a larger one
    /// needs to come and the one that it needs to stay, the reason is what it was.
    private func isHeld(below larger: Choice, at now: Instant) -> Bool {
        guard let estimate, !isClimbing(at: now) else { return true }
        if estimate >= needed(for: larger) { return true }
        return estimate >= lowestRate(of: larger) && reason.code != .linkWorse
    }

    /// Whether the estimate has only begun to grow, or the link was just found to carry more.
    private func isClimbing(at now: Instant) -> Bool {
        guard estimate != nil || climbsSince != nil else { return true }
        return climbsSince.map { now - $0 < configuration.earlyPhase } ?? false
    }

    private func tooThin(for larger: Choice?) -> LinkReason {
        guard let estimate, let larger else { return LinkReason(.linkWorse, "The line carries no picture.") }
        return LinkReason(
            .linkWorse,
            "The line's estimate of \(estimate)bit/s is below the \(needed(for: larger))bit/s that a larger picture needs."
        )
    }

    private mutating func move(to choice: Choice, _ reason: LinkReason) -> Change {
        self.choice = choice
        self.reason = reason
        betterSince = nil
        shortSince = nil
        return Change(choice: choice, reason: reason)
    }

    private func name(of choice: Choice) -> String {
        switch choice {
        case .rung(let index):
            index == 0 ? "the full picture" : index == rates.count - 1 ? "the smallest picture" : "this size of picture"
        case .stills: "a picture now and then"
        case .rareStills: "a picture every few seconds"
        case .audioOnly: "sound"
        }
    }

    private func grace(of choice: Choice) -> Duration {
        rank(choice) >= rates.count - 1 ? configuration.graceOfLowest : configuration.grace
    }

    /// 0 is the best.
    private func rank(_ choice: Choice) -> Int {
        switch choice {
        case .rung(let index): index
        case .stills: rates.count
        case .rareStills: rates.count + 1
        case .audioOnly: rates.count + 2
        }
    }

    private func highestBearable(_ estimate: BitRate) -> Choice {
        for index in ceiling..<max(ceiling, rates.count) where estimate >= lowestRate(of: .rung(index)) {
            return .rung(index)
        }
        let stills: [Choice] = rates.isEmpty ? [] : [.stills, .rareStills]
        return stills.first { estimate >= lowestRate(of: $0) } ?? .audioOnly
    }

    /// The estimate below which the choice cannot stay.
    private func lowestRate(of choice: Choice) -> BitRate {
        switch choice {
        case .rung(let index):
            rates[index] * (index == rates.count - 1 ? configuration.lowestOfLowest : configuration.lowest)
                + configuration.audio + configuration.extraAudio
        case .stills: configuration.rareStillsBelow + configuration.extraAudio
        case .rareStills: configuration.audioOnlyBelow
        case .audioOnly: .zero
        }
    }

    private func stepUp(from choice: Choice) -> Choice? {
        switch choice {
        case .rung(let index): index > ceiling ? .rung(index - 1) : nil
        case .stills: .rung(max(ceiling, rates.count - 1))
        case .rareStills: .stills
        case .audioOnly: rates.isEmpty ? nil : .rareStills
        }
    }

    private func needed(for choice: Choice) -> BitRate {
        switch choice {
        case .rung(let index):
            rates[index] * (index == rates.count - 1 ? configuration.headroomOfLowest : configuration.headroom)
                + configuration.audio + configuration.extraAudio
        case .stills: configuration.rareStillsBelow * configuration.headroomOfStills + configuration.extraAudio
        case .rareStills: configuration.audioOnlyBelow * configuration.headroomOfStills
        case .audioOnly: .zero
        }
    }
}
