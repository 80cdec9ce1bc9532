import Basics

/// Which step of the ladder one peer gets, by what its line carries.
///
/// Down at once, since a queue that grows is heard by its owner; up only after the line has shown for a while that it
/// carries more, since a step up that must be taken back costs two keyframes.
package struct RenditionSelector: Sendable {
    package enum Choice: Hashable, Sendable {
        /// An index into the ladder, 0 at the top.
        case rung(Int)
        /// Sound, and one picture every few seconds.
        case slides
        case audioOnly
    }

    /// What a participant's client tells in words.
    package var mode: LinkMode {
        switch choice {
        case .rung(let index): index > 0 ? .reduced : .full
        case .slides: .stills
        case .audioOnly: .audio
        }
    }

    package struct Configuration: Sendable {
        /// A rung bears an estimate down to this share of its rate: its encoder follows.
        package var lowest = 0.75
        /// A step up needs this many times the next rung's rate: enough not to be taken back at once, and what probes
        /// find of a line of 2 Mbit/s is enough for the top …
        package var headroom = 1.15
        /// … the lowest rung only this, so that 150 kbit/s are enough for motion.
        package var headroomOfLowest = 0.85
        /// … for this long.
        package var patience = Duration.seconds(3)
        /// In the first seconds of a call the estimate has only begun to grow: steps up are taken sooner.
        package var haste = Duration.milliseconds(300)
        package var hastyPhase = Duration.seconds(6)
        /// What sound takes of the line, with its packets' headers.
        package var audio = BitRate.kilobits(28)
        /// Below that a picture now and then would cost the sound. Estimates stay a fifth below the line: it is one of
        /// 48 kbit/s.
        package var audioOnlyBelow = BitRate.kilobits(38)
        /// Pictures come back at so many times that.
        package var headroomOfSlides = 1.15
        /// An estimate that falls short by less than this factor must do so for a while: the encoder follows meanwhile,
        /// and a keyframe's burst alone can make it dip.
        package var shortfall = 0.6
        package var grace = Duration.milliseconds(800)
        /// Motion, and pictures at all, are given up only after this.
        package var graceOfLowest = Duration.seconds(5)
        package init() {}
    }

    package struct Change: Hashable, Sendable {
        package var choice: Choice
        package var reason: LinkReason
    }

    package let rates: [BitRate]
    package let configuration: Configuration
    package private(set) var choice: Choice
    private var start: Instant?
    private var betterSince: Instant?
    private var shortSince: Instant?
    /// The highest rung that the server lets anyone have: an overload takes the upper ones away.
    package private(set) var ceiling = 0

    /// `rates`: of the ladder's rungs, from the top down. Until the first estimate a peer gets the lowest one: a joiner
    /// sees a picture at once and no line is flooded; a good line shows itself within half a second.
    package init(rates: [BitRate], configuration: Configuration = Configuration()) {
        self.rates = rates
        self.configuration = configuration
        choice = rates.isEmpty ? .audioOnly : .rung(rates.count - 1)
    }

    /// Takes the upper rungs away or gives them back.
    package mutating func setCeiling(_ rung: Int) -> Change? {
        ceiling = max(0, min(rung, rates.count - 1))
        guard case .rung(let index) = choice, index < ceiling else { return nil }
        return move(to: .rung(ceiling), LinkReason(.serverBusy, "The server is busy and makes no larger picture."))
    }

    /// A new estimate of what the line carries, sound included.
    package mutating func update(estimate: BitRate, at now: Instant) -> Change? {
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
        let isHasty = now - (start ?? now) < configuration.hastyPhase
        guard now - since >= (isHasty ? configuration.haste : configuration.patience) else { return nil }
        // A line that carries the top need not climb through the middle.
        var target = next
        while let higher = stepUp(from: target), estimate >= needed(for: higher) { target = higher }
        return move(
            to: target,
            LinkReason(
                .linkBetter,
                "The line's estimate of \(estimate)bit/s is enough for \(name(of: target)) (\(needed(for: target))bit/s)."
            ))
    }

    private mutating func move(to choice: Choice, _ reason: LinkReason) -> Change {
        self.choice = choice
        betterSince = nil
        shortSince = nil
        return Change(choice: choice, reason: reason)
    }

    private func name(of choice: Choice) -> String {
        switch choice {
        case .rung(let index):
            index == 0 ? "the full picture" : index == rates.count - 1 ? "the smallest picture" : "this size of picture"
        case .slides: "a picture now and then"
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
        case .slides: rates.count
        case .audioOnly: rates.count + 1
        }
    }

    private func highestBearable(_ estimate: BitRate) -> Choice {
        for index in ceiling..<max(ceiling, rates.count) where estimate >= lowestRate(of: .rung(index)) {
            return .rung(index)
        }
        return rates.isEmpty || estimate < configuration.audioOnlyBelow ? .audioOnly : .slides
    }

    /// Below that estimate the choice cannot stay.
    private func lowestRate(of choice: Choice) -> BitRate {
        switch choice {
        case .rung(let index): rates[index] * configuration.lowest + configuration.audio
        case .slides: configuration.audioOnlyBelow
        case .audioOnly: .zero
        }
    }

    private func stepUp(from choice: Choice) -> Choice? {
        switch choice {
        case .rung(let index): index > ceiling ? .rung(index - 1) : nil
        case .slides: .rung(max(ceiling, rates.count - 1))
        case .audioOnly: rates.isEmpty ? nil : .slides
        }
    }

    private func needed(for choice: Choice) -> BitRate {
        switch choice {
        case .rung(let index):
            rates[index] * (index == rates.count - 1 ? configuration.headroomOfLowest : configuration.headroom)
                + configuration.audio
        case .slides: configuration.audioOnlyBelow * configuration.headroomOfSlides
        case .audioOnly: .zero
        }
    }
}
