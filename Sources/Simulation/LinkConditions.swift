public import Basics

/// The model of packet loss.
public enum LossModel: Sendable, Equatable {
    case none
    /// Each packet is lost independently, with this probability.
    case random(Double)
    case bursts(GilbertElliott)
}

/// A link with a good and a bad state (Gilbert 1960, Elliott 1963): losses come in bursts, as on radio links.
public struct GilbertElliott: Sendable, Equatable {
    /// The probability per packet of a change from good to bad and back.
    public var toBad: Double
    public var toGood: Double
    public var lossWhenGood: Double
    public var lossWhenBad: Double

    public init(toBad: Double, toGood: Double, lossWhenGood: Double = 0, lossWhenBad: Double = 1) {
        self.toBad = toBad
        self.toGood = toGood
        self.lossWhenGood = lossWhenGood
        self.lossWhenBad = lossWhenBad
    }

    /// A model in which everything is lost in the bad state, nothing in the good one.
    public init(averageLoss: Double, burstLength: Double) {
        let back = 1 / max(burstLength, 1)
        self.init(toBad: back * averageLoss / max(1 - averageLoss, 0.001), toGood: back)
    }
}

/// The state of a link in its loss model.
public struct LossState: Sendable {
    private var isBad = false

    public init() {}

    /// Whether the next packet is lost.
    public mutating func loses(_ model: LossModel, using random: inout SeededRandom) -> Bool {
        switch model {
        case .none: return false
        case .random(let part): return random.chance(part)
        case .bursts(let model):
            if random.chance(isBad ? model.toGood : model.toBad) { isBad.toggle() }
            return random.chance(isBad ? model.lossWhenBad : model.lossWhenGood)
        }
    }
}

extension SeededRandom {
    /// True with this probability; draws nothing if it is zero.
    mutating func chance(_ part: Double) -> Bool { part > 0 && Double.random(in: 0..<1, using: &self) < part }
}

/// The effects of one direction of a link on packets.
public struct LinkConditions: Sendable, Equatable {
    public var delay: Duration
    /// A random addition to each packet's delay, evenly distributed up to this; order is kept.
    public var jitter: Duration = .zero
    public var loss: LossModel = .none
    /// The part of the packets that later ones overtake …
    public var reordering = 0.0
    /// … because they take this much longer.
    public var reorderingDelay: Duration = .milliseconds(20)
    public var duplication = 0.0
    /// nil: unlimited.
    public var rate: BitRate?
    /// Packets that do not fit into a queue of this length are dropped.
    public var queue: Duration = .milliseconds(300)

    public init(
        delay: Duration = .milliseconds(20), jitter: Duration = .zero, loss: LossModel = .none, reordering: Double = 0,
        duplication: Double = 0, rate: BitRate? = nil, queue: Duration = .milliseconds(300)
    ) {
        self.delay = delay
        self.jitter = jitter
        self.loss = loss
        self.reordering = reordering
        self.duplication = duplication
        self.rate = rate
        self.queue = queue
    }
}
