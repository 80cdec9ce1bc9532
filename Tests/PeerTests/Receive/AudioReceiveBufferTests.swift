import Basics
import Testing

@testable import Peer

/// A sender, a path with delay and loss, and a mixer that polls every 20 ms; tempo is applied to sample counts only.
private struct AudioLink {
    var random: SeededRandom
    var buffer = AudioReceiveBuffer()
    var now = Instant(nanoseconds: 5_000_000_000)
    var loss = 0.0
    var delay: (Int) -> Duration = { _ in .milliseconds(30) }
    var drift = 0.0
    var frameSamples = 960
    /// Each packet brings the one before again.
    var copies = false
    var payload: [UInt8] = [0x78, 1, 2, 3]
    var pcm = 0
    var flying: [ReceivedAudioPacket] = []
    var sent = 0
    var sequence: Int64 = 65_500
    var timestamp: Int64 = 0
    var sendAt = 5_000_000_000.0
    var decoded: [Int64] = []
    var delays: [Duration] = []
    var resets = 0

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func run(seconds: Double, sending: Bool = true) {
        let end = now + .nanoseconds(Int64(seconds * 1e9))
        while now < end {
            while sendAt <= Double(now.nanoseconds) {
                if sending { send() }
                timestamp += Int64(frameSamples)
                sendAt += Double(frameSamples) / 48_000 * 1e9 * (1 + drift)
            }
            for packet in flying.filter({ $0.arrival <= now }).sorted(by: { $0.arrival < $1.arrival }) {
                buffer.insert(packet)
            }
            flying.removeAll { $0.arrival <= now }
            if now.nanoseconds % 20_000_000 == 0 { tick() }
            now += .milliseconds(1)
        }
    }

    mutating func send() {
        let at = Instant(nanoseconds: Int64(sendAt))
        if Double.random(in: 0..<1, using: &random) >= loss {
            if copies, sent > 0 {
                flying.append(
                    ReceivedAudioPacket(
                        payload: payload, sequence: sequence - 1, timestamp: timestamp - Int64(frameSamples),
                        captureTime: at - .milliseconds(20),
                        arrival: at + delay(sent), isCopy: true))
            }
            flying.append(
                ReceivedAudioPacket(
                    payload: payload, sequence: sequence, timestamp: timestamp, captureTime: at,
                    arrival: at + delay(sent)))
        }
        sequence += 1
        sent += 1
    }

    mutating func tick() {
        var rounds = 0
        while let step = buffer.next(at: now, pcmBuffered: pcm) {
            rounds += 1
            #expect(rounds < 50)
            if rounds >= 50 { break }
            switch step {
            case .decode(let packet, let tempo):
                decoded.append(packet.sequence)
                pcm += Int(Double(OpusPacket(packet.payload)?.samples ?? 0) / tempo)
            case .decodeFEC(_, let samples), .conceal(let samples), .silence(let samples): pcm += samples
            case .reset: resets += 1
            }
        }
        if let delay = buffer.playoutDelay(at: now, pcmBuffered: 0) { delays.append(delay) }
        pcm -= 960
    }
}

@Suite struct AudioReceiveBufferTests {
    // TOC bytes: 2.5, 10, 20, 40, 60 ms and 120 ms.
    @Test(
        arguments: [(0x80, 120), (0x70, 480), (0x78, 960), (0x10, 1920), (0x18, 2880), (0x1B, 5760)] as [(UInt8, Int)])
    func `Packets of any length play without a gap on a clean link`(toc: UInt8, samples: Int) {
        var link = AudioLink(seed: 1)
        link.frameSamples = samples
        link.payload = samples == 5760 ? [toc, 2, 1, 1] : [toc, 1, 1, 1]
        link.run(seconds: 10)
        #expect(link.buffer.statistics.concealedSamples == 0 && link.buffer.statistics.late == 0)
        #expect(
            link.decoded == Array(65_500..<65_500 + Int64(link.decoded.count))
                && link.decoded.count * samples > 9 * 48_000)
    }

    @Test func `A lost packet is recovered from the next one's error correction`() {
        var link = AudioLink(seed: 2)
        link.loss = 0.05
        link.payload = [0x78, 0xC0, 2, 3]
        link.run(seconds: 20)
        #expect(link.buffer.statistics.fecSamples > 20 * 960)
        #expect(link.buffer.statistics.concealedSamples < 20 * 480)
    }

    /// The phase of arrivals against ticks decides how long a packet waits at least: where that is shorter than a
    /// packet, the one after a lost one would come too late to repair it.
    @Test(arguments: [0, 5, 10, 15, 19] as [Int64], [false, true]) func `Playout waits for a packet that repairs`(
        phase: Int64, copies: Bool
    ) {
        var link = AudioLink(seed: 12)
        link.delay = { _ in .milliseconds(30 + phase) }
        link.copies = copies
        if !copies { link.payload = [0x78, 0xC0, 2, 3] }
        link.run(seconds: 5)
        #expect(link.buffer.currentDelay < .milliseconds(36) && link.buffer.statistics.copies == 0)
        link.loss = 0.05
        link.run(seconds: 60)
        let statistics = link.buffer.statistics
        #expect(copies ? statistics.copies > 100 && statistics.fecSamples == 0 : statistics.fecSamples > 100 * 960)
        // A second after a loss it is forgotten: the next one may come too late once more.
        #expect(statistics.concealedSamples < 60 * 48_000 / 100)
        #expect(statistics.duplicates == 0 && statistics.late == 0)
        #expect(link.buffer.currentDelay < .milliseconds(60))
        link.loss = 0
        link.run(seconds: 10)
        #expect(link.buffer.currentDelay < .milliseconds(40))
    }

    @Test func `Copies of received packets change nothing`() {
        var with = AudioLink(seed: 13)
        with.copies = true
        var without = AudioLink(seed: 13)
        with.run(seconds: 10)
        without.run(seconds: 10)
        #expect(with.decoded == without.decoded && with.delays == without.delays)
        #expect(with.buffer.statistics == without.buffer.statistics)
    }

    @Test func `The delay follows the jitter up and falls back within ten seconds`() {
        var link = AudioLink(seed: 3)
        link.run(seconds: 5)
        #expect(link.buffer.currentDelay < .milliseconds(40))
        var jitter = SeededRandom(seed: 30)
        let delays = (0..<20_000).map { _ in Duration.milliseconds(30 + Int64.random(in: 0...100, using: &jitter)) }
        link.delay = { delays[$0] }
        link.run(seconds: 10)
        let target = link.buffer.targetDelay(at: link.now)
        #expect(target >= .milliseconds(85) && target <= .milliseconds(160))
        let concealed = link.buffer.statistics.concealedSamples
        link.run(seconds: 10)
        #expect(link.buffer.statistics.concealedSamples - concealed < 480_000 / 50)
        link.delay = { _ in .milliseconds(30) }
        link.run(seconds: 10)
        #expect(link.buffer.currentDelay < .milliseconds(45))
    }

    /// Arrival may lie anywhere between two ticks; at most a tick is lost to that.
    @Test(arguments: [0, 3, 7, 10, 13, 16, 19] as [Int64]) func `On a clean link audio waits for about a packet`(
        phase: Int64
    ) {
        var link = AudioLink(seed: 10)
        link.delay = { _ in .milliseconds(30 + phase) }
        link.run(seconds: 1)
        #expect(link.buffer.currentDelay >= .milliseconds(15) && link.buffer.currentDelay < .milliseconds(36))
        link.run(seconds: 60)
        #expect(link.buffer.currentDelay >= .milliseconds(15) && link.buffer.currentDelay < .milliseconds(36))
        #expect(link.buffer.statistics.concealedSamples == 0 && link.buffer.statistics.late == 0)
    }

    @Test func `Jitter after a clean start is covered within a tenth of a second`() {
        var link = AudioLink(seed: 11)
        link.payload = [0x78, 0xC0, 2, 3]
        link.run(seconds: 10)
        // From now on every second packet takes 60 ms longer.
        link.delay = { .milliseconds($0 % 2 == 0 ? 30 : 90) }
        // The first of them is missed after 30 to 70 ms.
        link.run(seconds: 0.03 + 0.1)
        let concealed = link.buffer.statistics.concealedSamples
        #expect(link.buffer.targetDelay(at: link.now) >= .milliseconds(70))
        link.run(seconds: 10)
        #expect(link.buffer.statistics.concealedSamples - concealed < 4800)
        #expect(link.buffer.currentDelay >= .milliseconds(60) && link.buffer.currentDelay < .milliseconds(100))
    }

    @Test func `Bursts never add up to delay`() {
        var link = AudioLink(seed: 4)
        // Every two seconds nothing comes for 300 ms and then all at once.
        link.delay = { .milliseconds(30 + max(0, 300 - Int64($0 % 100) * 20)) }
        link.run(seconds: 60)
        #expect(link.delays.max() ?? .zero < .milliseconds(650))
        link.delay = { _ in .milliseconds(30) }
        link.run(seconds: 10)
        #expect(link.buffer.currentDelay < .milliseconds(90))
    }

    @Test(arguments: [-300e-6, 300e-6]) func `Drift of 300 ppm is corrected without a gap`(drift: Double) {
        var link = AudioLink(seed: 5)
        link.drift = drift
        link.run(seconds: 300)
        #expect(link.buffer.statistics.concealedSamples < 4800 && link.buffer.statistics.late == 0)
        #expect(link.buffer.currentDelay > .milliseconds(4) && link.buffer.currentDelay < .milliseconds(45))
    }

    @Test func `Silence by discontinuous transmission is no loss`() {
        var link = AudioLink(seed: 6)
        link.run(seconds: 2)
        link.payload = [0x78]
        link.run(seconds: 0.02)
        link.run(seconds: 2, sending: false)
        link.payload = [0x78, 1, 2, 3]
        link.run(seconds: 2)
        #expect(link.buffer.statistics.concealedSamples == 0 && link.buffer.statistics.lost == 0 && link.resets == 0)
        #expect(link.decoded == Array(65_500..<65_500 + Int64(link.decoded.count)))
    }

    @Test func `A dead link fades out, and recovers at the normal delay`() {
        var link = AudioLink(seed: 7)
        link.run(seconds: 3)
        link.loss = 1
        link.run(seconds: 3)
        #expect(link.buffer.statistics.concealedSamples <= 9600 + 960)
        link.loss = 0
        let before = link.decoded.count
        link.run(seconds: 1)
        #expect(link.decoded.count - before > 40)
        link.run(seconds: 4)
        #expect(link.buffer.currentDelay < .milliseconds(90))
    }

    @Test func `A jump of the clock and a new SSRC start anew`() {
        var link = AudioLink(seed: 8)
        link.run(seconds: 2)
        link.timestamp += 48_000 * 3600
        link.run(seconds: 2)
        #expect(link.resets == 1 && link.buffer.currentDelay < .milliseconds(90))
        #expect(link.buffer.statistics.concealedSamples < 960 * 12)
    }

    @Test func `Lip synchronisation can delay the audio`() {
        var link = AudioLink(seed: 9)
        link.run(seconds: 2)
        link.buffer.minimumDelay = .milliseconds(150)
        link.run(seconds: 3)
        #expect(abs((link.buffer.currentDelay - .milliseconds(150)).inMilliseconds) < 30)
        #expect(link.buffer.statistics.concealedSamples == 0)
        #expect((link.delays.last ?? .zero) > .milliseconds(150))
    }

    @Test(arguments: [0, 7, 13, 19] as [Int64]) func `Audio that a short minimum delay left over is played faster`(
        phase: Int64
    ) {
        var link = AudioLink(seed: 12)
        link.delay = { _ in .milliseconds(30 + phase) }
        link.run(seconds: 2)
        link.buffer.minimumDelay = link.buffer.currentDelay + .milliseconds(15)
        link.run(seconds: 0.1)
        link.buffer.minimumDelay = .zero
        #expect(link.pcm > 300)
        link.run(seconds: 2)
        #expect(link.pcm < 150)
        #expect(link.buffer.currentDelay >= .milliseconds(15) && link.buffer.currentDelay < .milliseconds(36))
        #expect(link.buffer.statistics.concealedSamples == 0)
    }
}

@Suite struct SenderClockTests {
    static func ntp(_ nanoseconds: Int64) -> UInt64 {
        let seconds = UInt64(nanoseconds / 1_000_000_000)
        return seconds << 32 | (UInt64(nanoseconds % 1_000_000_000) << 32) / 1_000_000_000
    }

    @Test(arguments: [-300e-6, 0, 300e-6]) func `Audio and video stay synchronised through jitter and drift`(
        drift: Double
    ) {
        var random = SeededRandom(seed: 11)
        var clock = SenderClock()
        var worst = Duration.zero
        for step in 0..<3000 {
            let now = Instant(nanoseconds: Int64(step) * 20_000_000 + 1_000_000_000)
            let sender = 3_900_000_000_000_000_000 + Int64(Double(now.nanoseconds) * (1 + drift))
            let audio = Int64(Double(now.nanoseconds) * (1 + drift) * 48e-6) + 777
            let video = Int64(Double(now.nanoseconds) * (1 + drift) * 90e-6) + 99_999_999_999
            if step % 50 == 0 {
                let arrival = now + .milliseconds(Int64.random(in: 20...60, using: &random))
                clock.received(
                    SenderReport(ssrc: 1, ntpTime: Self.ntp(sender), rtpTimestamp: RTPTimestamp(wrapping: audio)),
                    at: arrival
                )
                clock.received(
                    SenderReport(ssrc: 2, ntpTime: Self.ntp(sender), rtpTimestamp: RTPTimestamp(wrapping: video)),
                    at: arrival
                )
            }
            // The picture comes 80 ms after the audio.
            func audioTaken() -> Instant {
                clock.captureTime(ssrc: 1, timestamp: audio, clockRate: 48_000, arrival: now + .milliseconds(60))
            }
            // Any packet may move the one offset, for both: the two are compared under the same.
            _ = audioTaken()
            let second = clock.captureTime(
                ssrc: 2, timestamp: video, clockRate: 90_000, arrival: now + .milliseconds(140))
            let first = audioTaken()
            if step > 100 { worst = max(worst, first < second ? second - first : first - second) }
            if step > 500 { #expect(abs((first - now).inMilliseconds - 20) < 30) }
        }
        #expect(worst < .milliseconds(1))
    }

    @Test func `Pictures that arrive before their time are as early as the trusted reports say`() {
        func lead(trustsReports: Bool) -> Double {
            var clock = SenderClock(trustsReports: trustsReports)
            var lead = Duration.zero
            for tick in 0..<500 {
                let now = Int64(tick) * 20_000_000 + 1_000_000_000
                let arrival = Instant(nanoseconds: now + 1_000_000)
                if tick % 50 == 3 {
                    for (ssrc, rate) in [(1, 48), (2, 90)] as [(SSRC, Int64)] {
                        clock.received(
                            SenderReport(
                                ssrc: ssrc, ntpTime: Self.ntp(3_900_000_000_000_000_000 + now),
                                rtpTimestamp: RTPTimestamp(wrapping: now / 1_000_000 * rate), packetCount: 0,
                                octetCount: 0, reports: []), at: arrival)
                    }
                }
                let audio = clock.captureTime(
                    ssrc: 1, timestamp: now / 1_000_000 * 48, clockRate: 48_000, arrival: arrival)
                let video = clock.captureTime(
                    ssrc: 2, timestamp: (now / 1_000_000 + 40) * 90, clockRate: 90_000, arrival: arrival)
                lead = video - audio
            }
            return lead.inMilliseconds
        }
        #expect(abs(lead(trustsReports: true) - 40) < 2)
        #expect(abs(lead(trustsReports: false)) < 2, "the reports were late")
    }

    @Test func `Before the first report the fastest packet defines the capture time`() {
        var clock = SenderClock()
        let a = clock.captureTime(ssrc: 1, timestamp: 0, clockRate: 48_000, arrival: .zero + .milliseconds(100))
        let b = clock.captureTime(ssrc: 1, timestamp: 960, clockRate: 48_000, arrival: .zero + .milliseconds(190))
        #expect(b - a == .milliseconds(20) && !clock.isSynchronized(ssrc: 1))
    }

    @Test func `A first report that was delayed makes no picture look younger than it is`() {
        var clock = SenderClock()
        // Audio arrives 10 ms after its capture, pictures 70 ms after it, the only reports 50 ms.
        for tick in 0..<100 {
            let now = Int64(tick) * 20_000_000 + 1_000_000_000
            let time = Self.ntp(3_900_000_000_000_000_000 + now)
            if tick == 3 {
                for (ssrc, rate) in [(1, 48), (2, 90)] as [(SSRC, Int64)] {
                    clock.received(
                        SenderReport(
                            ssrc: ssrc, ntpTime: time, rtpTimestamp: RTPTimestamp(wrapping: now / 1_000_000 * rate)),
                        at: Instant(nanoseconds: now + 50_000_000))
                }
            }
            let taken = Instant(nanoseconds: now)
            let sound = clock.captureTime(
                ssrc: 1, timestamp: taken.ticks(at: 48_000), clockRate: 48_000, arrival: taken + .milliseconds(10))
            let picture = clock.captureTime(
                ssrc: 2, timestamp: taken.ticks(at: 90_000), clockRate: 90_000, arrival: taken + .milliseconds(70))
            if tick > 3 { #expect(abs((picture - sound).inMilliseconds) < 0.1) }
        }
    }

    /// GStreamer's reports have the time of sending, and come each 5 s: after a rejoin on a busy machine the only report of
    /// a stream was late.
    @Test(
        "A stream that stalled before its report is corrected alone, and the other one keeps its time",
        arguments: [1, 2] as [UInt32], [40, 120, 300])
    func lateReport(stalled: UInt32, milliseconds: Int64) {
        var clock = SenderClock()
        var random = SeededRandom(seed: UInt64(stalled) << 10 | UInt64(milliseconds))
        var worst = (audio: 0.0, between: 0.0)
        let late = milliseconds * 1_000_000
        // Audio leaves 5 ms and pictures 15 ms after their capture; the link takes 30 ms and up to 40 more.
        for tick in 0..<1500 {
            let now = Int64(tick) * 20_000_000 + 1_000_000_000
            let taken = Instant(nanoseconds: now)
            for (ssrc, rate, second) in [(1, 48, 0), (2, 90, 2)] as [(UInt32, Int64, Int)]
            where tick % 250 == 50 * second {
                // Each third report is lost; of the stalled stream the first one is late.
                if tick / 250 % 3 == 2 { continue }
                let behind: Int64 = ssrc == stalled && tick < 250 ? late : 0
                let sent = now + behind
                clock.received(
                    SenderReport(
                        ssrc: SSRC(ssrc), ntpTime: Self.ntp(3_900_000_000_000_000_000 + sent),
                        rtpTimestamp: RTPTimestamp(wrapping: now / 1_000_000 * rate)),
                    at: Instant(nanoseconds: sent + 31_000_000))
            }
            func way() -> Duration {
                .milliseconds(30 + (tick % 7 == 0 ? 0 : Int64.random(in: 0...40, using: &random)))
            }
            let sound = clock.captureTime(
                ssrc: 1, timestamp: taken.ticks(at: 48_000), clockRate: 48_000,
                arrival: taken + .milliseconds(5) + way())
            let picture = clock.captureTime(
                ssrc: 2, timestamp: taken.ticks(at: 90_000), clockRate: 90_000,
                arrival: taken + .milliseconds(15) + way())
            // From the second report on: one alone may have been delayed by the link.
            guard tick > 120 else { continue }
            worst.audio = max(worst.audio, abs((sound - taken).inMilliseconds - 30))
            worst.between = max(worst.between, abs((picture - sound).inMilliseconds))
        }
        // Less than the tolerance for few reports may stay until the next one.
        let limit = milliseconds < 50 ? Double(milliseconds) + 1 : 20
        #expect(worst.between <= limit && worst.audio <= limit, "\(worst)")
    }

    @Test func `Reports of different moments of a second give the same capture time`() {
        var clock = SenderClock()
        let start = Instant(nanoseconds: 1_000_000_000)
        for (ssrc, rate, late) in [(1, 48_000, 250), (2, 90_000, 730)] as [(SSRC, Int64, Int64)] {
            let now = start + .milliseconds(late)
            clock.received(
                SenderReport(
                    ssrc: ssrc, ntpTime: Self.ntp(3_900_000_000_000_000_000 + now.nanoseconds),
                    rtpTimestamp: RTPTimestamp(wrapping: now.ticks(at: rate))), at: now + .milliseconds(20))
        }
        let now = start + .seconds(1)
        let sound = clock.captureTime(
            ssrc: 1, timestamp: now.ticks(at: 48_000), clockRate: 48_000, arrival: now + .milliseconds(25))
        let picture = clock.captureTime(
            ssrc: 2, timestamp: now.ticks(at: 90_000), clockRate: 90_000, arrival: now + .milliseconds(60))
        #expect(abs((sound - picture).inMilliseconds) < 0.1)
        #expect(abs((sound - now).inMilliseconds - 20) < 0.1)
    }

    @Test func `A sender's clock that is set moves both streams`() {
        var clock = SenderClock()
        var offsets: [Double] = []
        for second in 1...20 as ClosedRange<Int64> {
            let now = Instant(nanoseconds: second * 1_000_000_000)
            let set: Int64 = second > 10 ? 5_000_000_000 : 0
            let ntp = Self.ntp(3_900_000_000_000_000_000 + now.nanoseconds + set)
            for (ssrc, rate) in [(1, 48_000), (2, 90_000)] as [(SSRC, Int64)] {
                clock.received(
                    SenderReport(ssrc: ssrc, ntpTime: ntp, rtpTimestamp: RTPTimestamp(wrapping: now.ticks(at: rate))),
                    at: now + .milliseconds(20))
            }
            let sound = clock.captureTime(
                ssrc: 1, timestamp: now.ticks(at: 48_000), clockRate: 48_000, arrival: now + .milliseconds(30))
            let picture = clock.captureTime(
                ssrc: 2, timestamp: now.ticks(at: 90_000), clockRate: 90_000, arrival: now + .milliseconds(80))
            if second > 1, second != 11 { offsets.append((picture - sound).inMilliseconds) }
            #expect(now + .milliseconds(80) - picture < .milliseconds(100))
        }
        #expect(offsets.allSatisfy { abs($0) < 0.1 })
    }

    @Test func `A report with the time of a late transmission changes nothing, a new timeline does`() {
        var clock = SenderClock()
        func report(_ second: Int64, late: Int64, ahead: Int64 = 0) {
            let now = second * 1_000_000_000
            clock.received(
                SenderReport(
                    ssrc: 1, ntpTime: Self.ntp(3_900_000_000_000_000_000 + now + late * 1_000_000),
                    rtpTimestamp: RTPTimestamp(wrapping: (second * 1000 + ahead) * 48)),
                at: Instant(nanoseconds: now + (late + 20) * 1_000_000))
        }
        func capture(_ second: Int64, ahead: Int64 = 0) -> Double {
            let at = Instant(nanoseconds: second * 1_000_000_000)
            let made = clock.captureTime(
                ssrc: 1, timestamp: (second * 1000 + ahead) * 48, clockRate: 48_000, arrival: at + .milliseconds(400))
            return (made - at).inMilliseconds
        }
        _ = capture(1)
        report(1, late: 0)
        for second in 2...6 as ClosedRange<Int64> {
            report(second, late: second == 4 ? 0 : 300)
            #expect(abs(capture(second) - 20) < 1)
        }
        // The sender paused: its timestamps fell 200 ms behind its clock.
        for second in 7...10 as ClosedRange<Int64> {
            report(second, late: 0, ahead: -200)
            _ = capture(second, ahead: -200)
        }
        #expect(abs(capture(11, ahead: -200) - 20) < 1)
    }
}
