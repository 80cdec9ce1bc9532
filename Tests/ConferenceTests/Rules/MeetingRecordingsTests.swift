import Testing

@testable import Conference

@Suite struct MeetingRecordingsTests {
    @Test func `the latest hundred are kept, the oldest first`() {
        var recordings = MeetingRecordings()
        for number in 0..<250 { recordings.add("\(number)", startedBy: number % 2 == 0 ? "ann" : nil) }
        #expect(recordings.entries.count == MeetingRecordings.limit)
        #expect(recordings.entries.first == .init(id: "150", startedBy: "ann"))
        #expect(recordings.entries.last == .init(id: "249", startedBy: nil))
    }

    @Test func `the end of a meeting leaves the recording that still runs`() {
        var recordings = MeetingRecordings()
        for id in ["a", "b"] { recordings.add(id, startedBy: nil) }
        #expect(recordings.isPast(beside: ["b"]))
        recordings.clear(keeping: ["b"])
        #expect(recordings.entries.map(\.id) == ["b"] && !recordings.isPast(beside: ["b"]))
        recordings.clear(keeping: [])
        #expect(recordings.entries.isEmpty)
    }
}
