import Basics
public import Simulation

/// A video stream, modelled by the number of packets in each frame; all packets have 1200 bytes.
public struct VideoShape: Sendable {
    public let name: String
    public let packetsPerFrame: ClosedRange<Int>
    /// The probability that one more packet follows.
    let more: Double

    public static let framesPerSecond = 30

    /// 1.2 Mbit/s: 4.2 packets on average.
    public static let large = VideoShape(name: "720p, 1.2 Mbit/s", packetsPerFrame: 2...12, more: 0.69)
    /// 400 kbit/s: 1.4 packets on average.
    public static let small = VideoShape(name: "360p, 400 kbit/s", packetsPerFrame: 1...3, more: 0.3)

    func packets(using random: inout SeededRandom) -> Int {
        var count = packetsPerFrame.lowerBound
        while count < packetsPerFrame.upperBound, Double.random(in: 0..<1, using: &random) < more { count += 1 }
        return count
    }
}

/// One video stream over one bad link, repaired by retransmission (RFC 4588), XOR packets or both.
///
/// The receiver sends NACKs like libwebrtc's `NackRequester`, the only receiver that supports FlexFEC: at once when a
/// later media packet reveals the gap, and again after each round trip, checked every 20 ms, until the packet arrives.
/// Requests are lost like packets. The link has no rate limit: the cost of the repair is reported, but causes no queue.
public struct RepairTrial: Sendable {
    public var shape: VideoShape
    /// The same in both directions.
    public var loss: LossModel
    public var roundTrip: Duration
    public var protection: VideoProtection
    public var retransmits = true

    /// The pacer's interval between two packets: a stream of 1.2 Mbit/s is sent at 9.6 Mbit/s.
    static let spacing: Duration = .milliseconds(1)
    static let interval: Duration = .nanoseconds(1_000_000_000 / VideoShape.framesPerSecond)
    /// libwebrtc's `kUpdateInterval`.
    static let tick: Duration = .milliseconds(20)
    /// How long frames continue after the counted ones, so that the last of those are repaired too: fifteen attempts.
    private var epilogue: Duration { roundTrip * 15 + .seconds(1) }

    private enum Packet {
        case media(Int)
        /// An XOR packet with this index.
        case parity(Int)
        /// A retransmission.
        case repair(Int)
    }

    /// Runs `frames` frames; equal seeds give equal results.
    public func run(frames: Int, seed: UInt64) -> RepairStatistics {
        var sender = Sender(trial: self, frames: frames + Int(epilogue / Self.interval), seed: seed)
        var receiver = Receiver(trial: self, packets: sender.media)
        var down = Way<Packet>(delay: roundTrip / 2, loss: loss, seed: seed &+ 1)
        var up = Way<[Int]>(delay: roundTrip / 2, loss: loss, seed: seed &+ 2)
        while let next = sender.next {
            let now = min(
                next.at, down.next ?? .distantFuture, up.next ?? .distantFuture, receiver.due ?? .distantFuture)
            while let packet = down.receive(at: now) {
                switch packet {
                case .media(let sequence): receiver.media(sequence, at: now)
                case .repair(let sequence): receiver.made(sequence, at: now)
                case .parity(let index): receiver.parity(sender.groups[index], at: now)
                }
            }
            while let wanted = up.receive(at: now) {
                for sequence in wanted {
                    sender.repairs += 1
                    down.send(.repair(sequence), at: now)
                }
            }
            let wanted = receiver.wanted(at: now)
            if !wanted.isEmpty { up.send(wanted, at: now) }
            if next.at == now {
                down.send(next.packet, at: now)
                sender.advance()
            }
        }
        return RepairStatistics(
            sender.frames.prefix(frames).map { ($0.packets, $0.end + roundTrip / 2) }, came: receiver.came,
            overhead: (parity: sender.parity, repairs: Double(sender.repairs) / Double(sender.media)))
    }

    /// All packets that are sent without a request.
    private struct Sender {
        /// The packets of each frame, and the time at which the last of them is sent.
        private(set) var frames: [(packets: Range<Int>, end: Instant)] = []
        private(set) var groups: [[Int]] = []
        private(set) var media = 0
        var repairs = 0
        private var schedule: [(at: Instant, packet: Packet)] = []
        private var position = 0

        init(trial: RepairTrial, frames count: Int, seed: UInt64) {
            var random = SeededRandom(seed: seed)
            var writer = ParityWriter(trial.protection)
            for frame in 0..<count {
                var at = Instant.zero + RepairTrial.interval * frame
                var end = at
                let packets = media..<media + trial.shape.packets(using: &random)
                var parities: [[Int]] = []
                for sequence in packets {
                    schedule.append((at, .media(sequence)))
                    end = at
                    at += RepairTrial.spacing
                    parities += writer.sent(sequence, endsFrame: sequence == packets.upperBound - 1)
                }
                // XOR packets are sent behind the frame, which they would delay otherwise.
                for group in parities {
                    schedule.append((at, .parity(groups.count)))
                    groups.append(group)
                    at += RepairTrial.spacing
                }
                frames.append((packets, end))
                media = packets.upperBound
            }
        }

        /// In parts of the media.
        var parity: Double { Double(groups.count) / Double(max(media, 1)) }
        var next: (at: Instant, packet: Packet)? { position < schedule.count ? schedule[position] : nil }
        mutating func advance() { position += 1 }
    }

    private struct Receiver {
        let roundTrip: Duration
        let asks: Bool
        private(set) var came: [Instant?]
        private var reader = ParityReader()
        private var highest = -1
        /// The missing packets, and the time of the next request for each.
        private var missing: [Int: Instant] = [:]
        private(set) var due: Instant?

        init(trial: RepairTrial, packets: Int) {
            roundTrip = trial.roundTrip
            asks = trial.retransmits
            came = Array(repeating: nil, count: packets)
        }

        mutating func media(_ sequence: Int, at now: Instant) {
            if sequence > highest {
                for gap in highest + 1..<sequence where asks && came[gap] == nil {
                    missing[gap] = now
                    due = now
                }
                highest = sequence
            }
            made(sequence, at: now)
        }

        mutating func made(_ sequence: Int, at now: Instant) { note(reader.insert(sequence), at: now) }
        mutating func parity(_ group: [Int], at now: Instant) { note(reader.insert(covering: group), at: now) }

        private mutating func note(_ sequences: [Int], at now: Instant) {
            for sequence in sequences {
                came[sequence] = now
                missing[sequence] = nil
            }
        }

        mutating func wanted(at now: Instant) -> [Int] {
            guard let due, due <= now else { return [] }
            let wanted = missing.filter { $0.value <= now }.keys.sorted()
            let again = (now + roundTrip).nanoseconds + RepairTrial.tick.nanoseconds - 1
            let next = Instant(nanoseconds: again / RepairTrial.tick.nanoseconds * RepairTrial.tick.nanoseconds)
            for sequence in wanted { missing[sequence] = next }
            self.due = missing.values.min()
            return wanted
        }
    }

    /// A link that only delays and loses packets: so much simpler than `SimulatedLink` that a table of hours takes
    /// seconds.
    private struct Way<Payload> {
        let delay: Duration
        let loss: LossModel
        private var state = LossState()
        private var random: SeededRandom
        private var underway: [(at: Instant, payload: Payload)] = []
        private var first = 0

        init(delay: Duration, loss: LossModel, seed: UInt64) {
            self.delay = delay
            self.loss = loss
            random = SeededRandom(seed: seed)
        }

        var next: Instant? { first < underway.count ? underway[first].at : nil }

        mutating func send(_ payload: Payload, at now: Instant) {
            if !state.loses(loss, using: &random) { underway.append((now + delay, payload)) }
        }

        mutating func receive(at now: Instant) -> Payload? {
            guard let next, next <= now else { return nil }
            defer { first += 1 }
            return underway[first].payload
        }
    }
}
