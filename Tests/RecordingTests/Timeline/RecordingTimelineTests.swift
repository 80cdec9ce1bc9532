import Basics
import Foundation
import TestSupport
import Testing

@testable import Recording

@Suite struct RecordingTimelineTests {
    private static let meeting = [
        TimelineEvent(.joined, at: 0, participant: "a", name: "Ann"), TimelineEvent(.layout, at: 0, name: "grid"),
        TimelineEvent(.speaking, at: 1, participant: "a"), TimelineEvent(.silent, at: 4, participant: "a"),
        TimelineEvent(.speaking, at: 5, participant: "a"), TimelineEvent(.silent, at: 6, participant: "a"),
        TimelineEvent(.joined, at: 10, participant: "b", name: "Bob"),
        TimelineEvent(.presenting, at: 10.5, participant: "b"),
        TimelineEvent(.layout, at: 10.5, name: "presentation"),
        TimelineEvent(.speaking, at: 12, participant: "b"), TimelineEvent(.speaking, at: 13, participant: "a"),
        TimelineEvent(.silent, at: 13.1, participant: "a"), TimelineEvent(.mark, at: 15, name: "The vote"),
        TimelineEvent(.left, at: 20, participant: "b", name: "Bob"), TimelineEvent(.mark, at: 99, name: "too late"),
    ]

    @Test func `who was there, who spoke, and the chapters follow from the events`() {
        let timeline = RecordingTimeline(Self.meeting, duration: 30)
        typealias Person = RecordingTimeline.Person
        typealias Speech = RecordingTimeline.Speech
        #expect(
            timeline.participants == [
                Person(id: "a", name: "Ann", joined: 0, left: 30), Person(id: "b", name: "Bob", joined: 10, left: 20),
            ])
        // A short pause is none, a cough is no speech, and who leaves is silent.
        #expect(
            timeline.speakers == [
                Speech(participant: "a", name: "Ann", start: 1, end: 6),
                Speech(participant: "b", name: "Bob", start: 12, end: 20),
            ])
        #expect(timeline.layouts.map(\.name) == ["grid", "presentation"])
        #expect(timeline.chapters.map(\.title) == ["Start", "Bob joined, Bob presents", "The vote", "Bob left"])
        #expect(timeline.chapters.map(\.at) == [0, 10, 15, 20])
        #expect(timeline.chapters.map(\.isMark) == [false, false, true, false])
        #expect(RecordingTimeline([], duration: 1).chapters.count == 1)
    }

    @Test func `who is left out of the recording has the stretches of it, and no chapter then`() {
        typealias Stretch = RecordingTimeline.Stretch
        let timeline = RecordingTimeline(
            [
                TimelineEvent(.joined, at: 0, participant: "a", name: "Ann"),
                TimelineEvent(.unrecorded, at: 0, participant: "a"),
                TimelineEvent(.joined, at: 1, participant: "b", name: "Bob"),
                TimelineEvent(.recorded, at: 4, participant: "a"),
                TimelineEvent(.unrecorded, at: 6, participant: "b"),
                TimelineEvent(.unrecorded, at: 7, participant: "a"), TimelineEvent(.left, at: 8, participant: "b"),
            ], duration: 10)
        #expect(timeline.participants.map(\.name) == ["Ann", "Bob"])
        #expect(timeline.participants.first?.unrecorded == [Stretch(start: 0, end: 4), Stretch(start: 7, end: 10)])
        #expect(timeline.participants.last?.unrecorded == [Stretch(start: 6, end: 8)])
        #expect(timeline.chapters.map(\.title) == ["Start", "A participant joined"])
    }

    @Test func `a part has the chapter that it begins in, and times of its own`() {
        let chapters = RecordingTimeline(Self.meeting, duration: 30).chapters
        let part = RecordingChapter.part(of: chapters, from: 12)
        #expect(part.map(\.title) == ["Bob joined, Bob presents", "The vote", "Bob left"])
        #expect(part.map(\.at) == [0, 3, 8])
        #expect(RecordingChapter.part(of: [], from: 12).isEmpty)
    }

    @Test func `WebVTT has a cue for each speech, and names do no harm in it`() {
        var events = Self.meeting
        events[0].name = "<b>Ann & -->\nCo</b>"
        events[1].name = "a-->\nb"
        let text = RecordingTimeline(events, duration: 4000).webVTT
        #expect(text.hasPrefix("WEBVTT\n\nNOTE 00:00:00.000 layout a-> b\n\n00:00:01.000 --> 00:00:06.000\n"))
        #expect(text.contains("<v &lt;b&gt;Ann &amp; -&gt; Co&lt;/b&gt;>&lt;b&gt;Ann"))
        #expect(text.components(separatedBy: "-->").count == 3)
        #expect(text.contains("\n\n00:00:12.000 --> 00:00:20.000\n<v Bob>Bob\n"))
    }

    @Test func `a day of events has bounds`() {
        var events: [TimelineEvent] = []
        for second in 0..<40_000 {
            let id = "p\(second % 40)"
            events.append(TimelineEvent(.joined, at: Double(second), participant: id, name: id))
            events.append(TimelineEvent(.speaking, at: Double(second) + 0.1, participant: id))
            events.append(TimelineEvent(.mark, at: Double(second) + 0.5, name: String(repeating: "ü", count: 999)))
            events.append(TimelineEvent(.left, at: Double(second) + 0.9, participant: id))
        }
        let timeline = RecordingTimeline(events, duration: 40_000)
        #expect(timeline.chapters.count <= 2000 && timeline.speakers.count == 40_000)
        #expect(timeline.chapters.allSatisfy { $0.title.utf8.count <= 250 })
    }

    @Test func `the whole lines of a log are read after a crash, others are left out`() throws {
        let directory = ScratchDirectory()
        let path = directory.file("a.events")
        let log = TimelineLog(path: path, disk: .system)
        for event in Self.meeting { log.append(event) }
        #expect(TimelineLog.read(path) == Self.meeting)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try (bytes.dropLast(5) + Data("\n{}\nnonsense\n\u{0}".utf8)).write(to: URL(fileURLWithPath: path))
        #expect(TimelineLog.read(path) == Self.meeting.dropLast())
        log.remove()
        #expect(TimelineLog.read(path).isEmpty)
        // A disk that takes nothing costs the file, not the events.
        let disk = FakeDisk()
        disk.fail(ENOSPC)
        let full = TimelineLog(path: directory.file("b.events"), disk: disk.disk)
        for event in Self.meeting { full.append(event) }
        #expect(full.events.count == Self.meeting.count)
    }

    @Test func `who is not recorded any more is in no later chapter, and is back in the same entry`() {
        var events: [TimelineEvent] = []
        func note(_ kind: TimelineEvent.Kind, _ at: Double, _ id: String, _ name: String? = nil) {
            var event = TimelineEvent(kind, participant: id, name: name)
            event.at = at
            events.append(event)
        }
        note(.joined, 0, "a", "Ann")
        note(.unrecorded, 10, "a")
        note(.notPresenting, 10, "a")
        note(.joined, 30, "a", "Ann")
        note(.recorded, 30, "a")
        note(.unrecorded, 40, "a")
        note(.left, 50, "a")
        let timeline = RecordingTimeline(events, duration: 60)
        // Whose name was refused once is in none of them.
        #expect(timeline.chapters.map(\.title) == ["Start", "A participant joined"])
        #expect(timeline.participants.count == 1 && timeline.participants.first?.joined == 0)
        #expect(timeline.participants.first?.unrecorded?.first?.end == 30)
    }
}
