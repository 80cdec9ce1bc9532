import Basics
import Simulation

/// The rows of the table.
extension Scenario {
    /// All rows, in the table's order.
    public static let all: [Scenario] = [
        clean, steps, thin, floor, least, loss(0.02), loss(0.05), loss(0.10), heavyLoss, lossyFloor, bursts, jitter,
        outage, crowd, joiners,
    ]

    static let cleanLink = LinkConditions(delay: .milliseconds(10), rate: .megabits(5))

    public static let clean = Scenario(
        name: "clean 5 Mbit/s, 20 ms round trip", aim: "top rung within 4 s of joining; no freeze",
        links: [.init(cleanLink)],
        duration: .seconds(60)
    ) { outcome in
        let statistics = outcome.down(0)
        return [
            Check("top rung after", outcome.secondsToTop(of: 0), "s", .atMost(4)),
            Check("freezes a minute", statistics.freezesOver200, "", .atMost(0)),
        ]
    }

    private static func rate(_ kilobits: Int) -> LinkConditions {
        LinkConditions(delay: .milliseconds(25), rate: .kilobits(kilobits))
    }
    private static let drop = Duration.seconds(20)
    private static let rise = Duration.seconds(40)

    public static let steps = Scenario(
        name: "1 Mbit/s → 300 kbit/s → 1 Mbit/s",
        aim: "leaves the rung within 2 s, queue under 150 ms within 3 s; returns within 10 s",
        links: [.init(rate(1000))],
        changes: [
            .init(after: drop, up: rate(1000), down: rate(300)), .init(after: rise, up: rate(1000), down: rate(1000)),
        ], duration: .seconds(60)
    ) { outcome in
        let before = outcome.room.members[0].samples.last { $0.at < outcome.room.start + drop }?.choice
        let left = outcome.seconds(from: drop) { outcome.room.tag(of: $0) > before.map(outcome.room.tag) ?? 0 }
        let queue = outcome.queueSeconds(from: drop, to: rise, over: .milliseconds(150))
        let back = outcome.seconds(from: rise) { outcome.room.tag(of: $0) <= before.map(outcome.room.tag) ?? 0 }
        return [
            Check("rung left after", left, "s", .atMost(2)), Check("queue under 150 ms after", queue, "s", .atMost(3)),
            Check("back after", back, "s", .atMost(10)),
        ]
    }

    public static let thin = Scenario(
        name: "150 kbit/s, 100 ms round trip",
        aim: "picture and sound continuous; under 150 kbit/s; delay under 400 ms",
        links: [.init(LinkConditions(delay: .milliseconds(50), rate: .kilobits(150)))], duration: .seconds(60),
        settled: .seconds(8)
    ) { outcome in
        let statistics = outcome.down(0)
        return [
            Check("freezes over 500 ms a minute", statistics.freezesOver500, "", .atMost(1)),
            Check(
                "motion", statistics.motion * 100, "%", .above(90)),
            Check("sound concealed", statistics.concealed, "%", .below(1)),
            Check("rate", Double(statistics.bitRate.bitsPerSecond) / 1000, "kbit/s", .below(150)),
            Check("picture delay p95", statistics.pictureDelay.p95, "ms", .below(400)),
        ]
    }

    public static let floor = Scenario(
        name: "60 kbit/s, 100 ms round trip", aim: "speech without gaps, a picture at least every 5 s",
        links: [.init(LinkConditions(delay: .milliseconds(50), rate: .kilobits(60)))], duration: .seconds(60),
        settled: .seconds(10)
    ) { outcome in
        let statistics = outcome.down(0)
        return [
            Check("sound concealed or missing", statistics.concealed + statistics.silent, "%", .below(1)),
            Check("longest wait for a picture", statistics.longestGap.inSeconds, "s", .atMost(5)),
        ]
    }

    /// A queue of 300 ms would hold one full packet, and a browser's first flight of DTLS has two.
    public static let least = Scenario(
        name: "32 kbit/s, 100 ms round trip", aim: "speech without gaps, a picture at least every 10 s",
        links: [.init(LinkConditions(delay: .milliseconds(50), rate: .kilobits(32), queue: .milliseconds(800)))],
        duration: .seconds(90), settled: .seconds(20)
    ) { outcome in
        let statistics = outcome.down(0)
        return [
            Check("sound concealed or missing", statistics.concealed + statistics.silent, "%", .below(1)),
            Check("longest wait for a picture", statistics.longestGap.inSeconds, "s", .atMost(10)),
            Check("rate", Double(statistics.bitRate.bitsPerSecond) / 1000, "kbit/s", .below(32)),
        ]
    }

    public static let heavyLoss = Scenario(
        name: "20 % random loss, 100 ms round trip", aim: "motion goes on; sound concealed at most 1.5 %",
        links: [.init(LinkConditions(delay: .milliseconds(50), loss: .random(0.20), rate: .megabits(3)))],
        duration: .seconds(60), settled: .seconds(8)
    ) { outcome in
        let statistics = outcome.down(0)
        return [
            Check("motion", statistics.motion * 100, "%", .above(90)),
            Check("sound concealed or missing", statistics.concealed + statistics.silent, "%", .atMost(1.5)),
            Check("freezes over 500 ms a minute", statistics.freezesOver500),
            Check("rate", Double(statistics.bitRate.bitsPerSecond) / 1000, "kbit/s"),
        ]
    }

    public static let lossyFloor = Scenario(
        name: "30 % random loss, 100 ms round trip, 60 kbit/s",
        aim: "sound concealed at most 3 %; a picture at least every 8 s; at most 60 kbit/s",
        links: [.init(LinkConditions(delay: .milliseconds(50), loss: .random(0.30), rate: .kilobits(60)))],
        duration: .seconds(90), settled: .seconds(15)
    ) { outcome in
        let statistics = outcome.down(0)
        return [
            Check("sound concealed or missing", statistics.concealed + statistics.silent, "%", .atMost(3)),
            Check("longest wait for a picture", statistics.longestGap.inSeconds, "s", .atMost(8)),
            Check("rate", Double(statistics.bitRate.bitsPerSecond) / 1000, "kbit/s", .atMost(60)),
        ]
    }

    public static func loss(_ part: Double) -> Scenario {
        let link = LinkConditions(delay: .milliseconds(30), loss: .random(part), rate: .megabits(3))
        let aim =
            part < 0.04
            ? "no freeze over 500 ms"
            : part < 0.08
                ? "no freeze over 500 ms; sound concealed under 1 % with FEC" : "under 2 freezes over 500 ms a minute"
        return Scenario(
            name: "\(Int((part * 100).rounded())) % random loss, 60 ms round trip", aim: aim, links: [.init(link)],
            duration: .seconds(60)
        ) { outcome in
            let statistics = outcome.down(0)
            let up = outcome.up(0)
            var checks = [
                Check(
                    "freezes over 500 ms a minute", max(statistics.freezesOver500, up.freezesOver500), "",
                    part < 0.08 ? .atMost(0) : .below(2)),
                Check("over 200 ms", max(statistics.freezesOver200, up.freezesOver200)),
            ]
            if part < 0.08 {
                checks.append(Check("sound concealed", max(statistics.concealed, up.concealed), "%", .below(1)))
            }
            return checks
        }
    }

    public static let bursts = Scenario(
        name: "bursts: 5 % in mean, 8 packets each", aim: "under 2 freezes a minute",
        links: [
            .init(
                LinkConditions(
                    delay: .milliseconds(30), loss: .bursts(GilbertElliott(averageLoss: 0.05, burstLength: 8)),
                    rate: .megabits(3)
                ))
        ],
        duration: .seconds(60)
    ) { outcome in
        let statistics = outcome.down(0)
        let up = outcome.up(0)
        return [
            Check("freezes over 200 ms a minute, down", statistics.freezesOver200, "", .below(2)),
            Check("up", up.freezesOver200, "", .below(2)),
            Check("over 500 ms", max(statistics.freezesOver500, up.freezesOver500)),
        ]
    }

    /// Like `tc netem delay 30ms 15ms`: each packet has a delay of its own, so packets overtake each other.
    public static let jitter: Scenario = {
        var link = LinkConditions(
            delay: .milliseconds(30), jitter: .milliseconds(30), reordering: 1, rate: .megabits(3))
        link.reorderingDelay = .zero
        return Scenario(
            name: "30 ms jitter with reordering", aim: "no spurious keyframes; NACKs under 1 % of packets",
            links: [.init(link)],
            duration: .seconds(60)
        ) { outcome in
            let statistics = outcome.down(0)
            let up = outcome.up(0)
            return [
                Check("keyframes asked", Double(max(statistics.keyframesAsked, up.keyframesAsked)), "", .atMost(1)),
                Check("NACKs", max(statistics.nacks, up.nacks), "%", .below(1)),
                Check("top rung after", outcome.secondsToTop(of: 0), "s", .atMost(15)),
            ]
        }
    }()

    private static let death = Duration.seconds(20)
    private static let return_ = Duration.seconds(23)

    public static let outage: Scenario = {
        let link = LinkConditions(delay: .milliseconds(25), rate: .megabits(2))
        var dead = link
        dead.loss = .random(1)
        return Scenario(
            name: "dead for 3 s, then back", aim: "sound and picture back within 1 s, delay normal within 5 s",
            links: [.init(link)],
            changes: [.init(after: death, up: dead, down: dead), .init(after: return_, up: link, down: link)],
            duration: .seconds(50)
        ) { outcome in
            let member = outcome.room.members[0]
            let back = outcome.room.start + return_
            func since(_ instant: Instant?) -> Double? { instant.map { ($0 - back).inSeconds } }
            let picture = since(member.pictureSink.shown.all.first { $0.at > back && $0.made > back }?.at)
            let audio = since(member.audioSink.ticks.first { $0.at > back && $0.concealed + $0.silent == 0 }?.at)
            let pictureUp = since(member.tileView.shown.all.first { $0.at > back && $0.made > back }?.at)
            let audioUp = since(
                member.serverAudioSink.ticks.first { $0.at > back && $0.concealed + $0.silent == 0 }?.at)
            let before = outcome.down(0, in: outcome.room.start + .seconds(10)..<outcome.room.start + death)
                .pictureDelay
            let limit = Duration.nanoseconds(Int64((before.p95 + 60) * 1e6))
            // Half seconds are compared by their median, because single keyframes would count otherwise.
            let isLate = (0..<40).map { half in
                let start = back + .milliseconds(500) * half
                return outcome.down(0, in: start..<start + .milliseconds(500)).pictureDelay.median
                    > limit.inMilliseconds
            }
            // The rate is normal when it stays so for three seconds; a later rung has a keyframe of its own.
            let normal = (0..<34).first { half in !isLate[half..<half + 6].contains(true) }.map { Double($0) / 2 }
            return [
                Check("picture back after", max(picture ?? .infinity, pictureUp ?? .infinity), "s", .atMost(1)),
                Check("sound back after", max(audio ?? .infinity, audioUp ?? .infinity), "s", .atMost(1)),
                Check("delay normal after", normal, "s", .atMost(5)),
            ]
        }
    }()

    /// The five bad links of a crowded room.
    static let badLinks: [LinkConditions] = [
        LinkConditions(delay: .milliseconds(50), rate: .kilobits(150)),
        LinkConditions(delay: .milliseconds(50), rate: .kilobits(60)),
        LinkConditions(delay: .milliseconds(30), loss: .random(0.10), rate: .megabits(3)),
        LinkConditions(
            delay: .milliseconds(30), loss: .bursts(GilbertElliott(averageLoss: 0.05, burstLength: 8)),
            rate: .megabits(3)),
        LinkConditions(delay: .milliseconds(25), rate: .kilobits(1300)),
    ]

    public static let crowd = Scenario(
        name: "20 peers, 5 of them bad", aim: "the other 15 are as in the clean row",
        links: (0..<15).map { _ in .init(cleanLink) } + badLinks.map { .init($0) }, duration: .seconds(30),
        camera: .kilobits(120),
        shown: 0..<15
    ) { outcome in
        let tops = (0..<15).map { outcome.secondsToTop(of: $0) ?? .infinity }
        let freezes = (0..<15).map { outcome.down($0).freezesOver200 }.reduce(0, +) / 15
        let share = (0..<15).map { outcome.down($0).shares.first { $0.rung == "720p" }?.share ?? 0 }.min() ?? 0
        return [
            Check("slowest at the top after", tops.max(), "s", .atMost(4)),
            Check("freezes a minute", freezes, "", .atMost(0)),
            Check("least time at the top", share * 100, "%", .above(98)),
        ]
    }

    private static let firstJoin = Duration.seconds(8)
    private static let joinTime = Duration.seconds(30)

    public static let joiners = Scenario(
        name: "4 peers, 20 more join in 30 s",
        aim:
            "at most 6 keyframes for those who are there; a joiner's picture within 300 ms, sharp 5 s after its line is known",
        links: (0..<4).map { _ in .init(cleanLink) },
        joins: (0..<20).map { .init(after: firstJoin + .milliseconds(1500) * $0, link: .init(cleanLink)) },
        duration: firstJoin + joinTime + .seconds(7), settled: firstJoin, camera: .kilobits(60), shown: 0..<4
    ) { outcome in
        let start = outcome.room.start + firstJoin
        let keyframes = (0..<4).map { member in
            outcome.room.members[member].keyframesSent.count { start..<start + joinTime ~= $0.at }
        }
        let freezes = (0..<4).map { outcome.down($0).freezesOver200 }.max() ?? 0
        return [
            Check("keyframes", keyframes.max().map(Double.init), "", .atMost(6)),
            Check("freezes a minute", freezes, "", .atMost(0)),
            Check("slowest first picture", outcome.secondsToFirstPicture(of: 4..<24).max(), "s", .atMost(0.3)),
            Check("slowest to be sharp", outcome.secondsToSharp(of: 4..<24).max(), "s", .atMost(5)),
        ]
    }
}
