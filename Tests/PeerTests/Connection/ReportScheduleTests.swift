import Basics
import Testing

@testable import Peer

@Suite("When reports are due") struct ReportScheduleTests {
    /// The times of the reports, in milliseconds, if the schedule is polled every ten.
    private func times(
        _ schedule: inout ReportSchedule, streams: [(Int, Int)], until end: Int, bandwidth: BitRate = .megabits(1)
    ) -> [Int] {
        var times: [Int] = []
        for milliseconds in stride(from: 0, through: end, by: 10) {
            let now = Instant.zero + .milliseconds(milliseconds)
            for (time, count) in streams where time == milliseconds { _ = schedule.note(streams: count, at: now) }
            if schedule.take(at: now, bandwidth: bandwidth) { times.append(milliseconds) }
        }
        return times
    }

    @Test("None before the connection is established, then one every second")
    func interval() {
        var schedule = ReportSchedule()
        #expect(schedule.deadline == nil && !schedule.take(at: .zero, bandwidth: .zero))
        schedule.start(at: .zero)
        #expect(times(&schedule, streams: [], until: 2500) == [500, 1500, 2500])
        var thin = ReportSchedule()
        thin.start(at: .zero)
        #expect(times(&thin, streams: [], until: 5000, bandwidth: .kilobits(180)) == [500, 2500, 4500])
        #expect(ReportSchedule.interval(at: .kilobits(30)) == .seconds(2))
    }

    @Test("A new stream is reported at once, and three times more in the shorter interval")
    func streams() {
        var schedule = ReportSchedule()
        schedule.start(at: .zero)
        #expect(
            times(&schedule, streams: [(100, 1), (200, 1), (400, 2)], until: 2500) == [
                100, 350, 400, 650, 900, 1150, 2150,
            ])
        let isKnown = !schedule.note(streams: 2, at: .zero)
        #expect(isKnown)
    }
}

@Suite("When the receive limit is announced to the peer") struct ReceiveLimitTests {
    @Test("Once the connection is established, at once after a change, and every second")
    func told() {
        var limit = ReceiveLimit(.megabits(1))
        let early = limit.set(.megabits(2), at: .zero)
        #expect(early && limit.deadline == nil && !limit.take(at: .zero))
        limit.start(at: .zero)
        #expect(limit.take(at: .zero) && !limit.take(at: .zero + .milliseconds(999)))
        let same = limit.set(.megabits(2), at: .zero + .milliseconds(999))
        #expect(!same && limit.deadline == .zero + .seconds(1))
        let changed = limit.set(.kilobits(500), at: .zero + .milliseconds(999))
        #expect(changed && limit.take(at: .zero + .milliseconds(999)) && limit.rate == .kilobits(500))
    }
}

@Suite("When the estimate is announced") struct EstimateAnnouncementTests {
    @Test(
        "At once downwards by 5 %, upwards after 200 ms, and every second",
        arguments: [
            (940, 10, true), (960, 10, false), (1060, 190, false), (1060, 200, true), (1040, 500, false),
            (1000, 990, false), (1000, 1000, true),
        ])
    func told(kilobits: Int, after milliseconds: Int, isTold: Bool) {
        var announcement = EstimateAnnouncement()
        let first = announcement.take(.kilobits(1000), at: .zero)
        #expect(first)
        let again = announcement.take(.kilobits(kilobits), at: .zero + .milliseconds(milliseconds))
        #expect(again == isTold)
    }
}
