import Basics
import TestSupport
import Testing
import Threads

@testable import Conference
@testable import RoomMedia

/// Views in a whole conference without any peer: who gets which, and what is told to whom.
@Suite("Views in a conference", .serialized)
struct ViewTests {
    /// The layouts that a participant was told of.
    private final class Told: Sendable {
        private let layouts = Guarded<[ShownLayout]>([])
        private let choosers = Guarded<[String?]>([])
        private let tiles = Guarded<[TilesInfo]>([])
        var last: ShownLayout? { layouts.withLock { $0.last } }
        var count: Int { layouts.withLock { $0.count } }
        var canvas: TilesInfo? { tiles.withLock { $0.last } }
        /// Who has changed the picture of everyone, for each change that was told.
        var by: [String?] { choosers.withLock { $0 } }
        func take(_ event: SharedEvent) {
            if case .layout(let layout, let chooser) = event.event {
                choosers.withLock { $0.append(chooser) }
                layouts.withLock { $0.append(layout) }
            }
            if case .tiles(let info) = event.event { tiles.withLock { $0.append(info) } }
        }
    }

    private func join(
        _ conference: Conference, _ room: String = "r", told: Told = Told(),
        _ change: (inout AdmittedJoin) -> Void = { _ in }
    ) throws -> Participant {
        var request = AdmittedJoin(room: room, name: "Ann")
        change(&request)
        return try conference.join(request) { told.take($0) }
    }

    private func views(_ conference: Conference) -> Set<ViewID> { conference.registry["r"]?.read(\.usedViews) ?? [] }

    @Test("a layout in a link is for who opens it: it shapes only a room that the join creates")
    func link() async throws {
        try await withConference { conference in
            let first = try join(conference) { $0.layout = "speaker" }
            #expect(conference.rooms.room("r")?.layout == "speaker" && first.shown == ShownLayout(name: "speaker"))
            let second = try join(conference) { $0.layout = "single" }
            #expect(conference.rooms.room("r")?.layout == "speaker")
            #expect(second.shown == ShownLayout(name: "single", scope: .me) && first.shown.name == "speaker")
            let viewer = try join(conference) { ($0.layout, $0.role, $0.kind) = ("grid", .viewer, .viewer) }
            #expect(viewer.shown.scope == .me && conference.rooms.room("r")?.layout == "speaker")
            // A room of the API has its layout from there.
            try conference.rooms.create("made", RoomSettingsChange())
            let guest = try join(conference, "made") { $0.layout = "speaker" }
            #expect(conference.rooms.room("made")?.layout == "grid" && guest.shown.scope == .me)
            #expect(throws: ConferenceError.unknownLayout("none")) { try join(conference) { $0.layout = "none" } }
        }
    }

    @Test("who changes the picture of everyone is named, and nobody where it changes by itself or from outside")
    func choosers() async throws {
        try await withConference { conference in
            let (told, own) = (Told(), Told())
            let ann = try join(conference, told: told)
            let bob = try join(conference, told: own)
            try bob.setLayout("speaker", scope: .room)
            #expect(await eventually { told.by == [bob.id] && own.by == [bob.id] })
            var change = RoomSettingsChange()
            change.layout = "single"
            try conference.rooms.update("r", change)
            #expect(await eventually { told.by == [bob.id, nil] })
            // A choice for oneself, and its end.
            try ann.setLayout("grid", scope: .me)
            #expect(await eventually { told.by == [bob.id, nil, nil] })
            try ann.setLayout(nil, scope: .me)
            #expect(await eventually { told.by == [bob.id, nil, nil, nil] })
            // Somebody presents: the picture follows by itself.
            try ann.setLayout("grid", scope: .room)
            #expect(await eventually { own.by.last == ann.id })
            try bob.present(true)
            #expect(await eventually { own.last?.name == "presentation" && own.by.last == .some(nil) })
            try bob.present(false)
            #expect(await eventually { own.last?.name == "grid" && own.by.last == .some(nil) })
        }
    }

    @Test("a participant is told of its own picture's layout, and not of one that it does not see")
    func announcements() async throws {
        try await withConference { conference in
            let (told, own) = (Told(), Told())
            let ann = try join(conference, told: told)
            let bob = try join(conference, told: own)
            try bob.setLayout("single", scope: .me, pins: [ann.id])
            let choice = ShownLayout(name: "single", scope: .me, pins: [ann.id])
            #expect(await eventually { own.last == choice })
            try ann.setLayout("speaker", scope: .room)
            #expect(await eventually { told.last == ShownLayout(name: "speaker") })
            #expect(own.last == choice && own.count == 1, "the room's change is not his")
            // Without a name and pins his choice ends.
            try bob.setLayout(nil, scope: .me)
            #expect(await eventually { own.last == ShownLayout(name: "speaker") })
            #expect(views(conference) == [.main])
        }
    }

    @Test("a participant changes its view, and gets that one's tiles")
    func switching() async throws {
        try await withConference { conference in
            let told = Told()
            let ann = try join(conference, told: told) { $0.view = "portrait" }
            _ = try join(conference)
            #expect(ann.shown == ShownLayout(name: "grid", view: "portrait") && ann.views == ["main", "portrait"])
            _ = try join(conference)
            #expect(await eventually { told.canvas?.tiles.count == 3 })
            #expect(told.canvas?.width == 720 && told.canvas?.height == 1280)
            #expect(conference.rooms.room("r")?.tiles.width == 1280, "the room's tiles are those of main")
            #expect(conference.rooms.room("r")?.views.map(\.participants) == [2, 1])
            try ann.setView("main")
            #expect(await eventually { told.canvas?.width == 1280 && told.last?.view == "main" })
            #expect(views(conference) == [.main])
            #expect { try ann.setView("guests") } throws: {
                ($0 as? ConferenceError)?.message.contains("portrait") == true
            }
            #expect(throws: ConferenceError.self) { try join(conference) { $0.view = "guests" } }
        }
    }

    @Test("in a call of two each is told of the other's tile alone, and everyone else of both")
    func two() async throws {
        try await withConference({ $0.limits.viewsPerRoom = 0 }) { conference in
            let (ann, bob, viewer) = (Told(), Told(), Told())
            let first = try join(conference, told: ann)
            let second = try join(conference, told: bob)
            _ = try join(conference, told: viewer) { ($0.role, $0.kind) = (.viewer, .viewer) }
            func tiles(_ told: Told) -> [String] { told.canvas?.tiles.map(\.participant) ?? [] }
            #expect(await eventually { tiles(ann) == [second.id] && tiles(bob) == [first.id] })
            #expect(ann.canvas?.tiles.first.map { [$0.width, $0.height] } == [1280, 720], "the whole picture")
            #expect(await eventually { tiles(viewer).count == 2 } && ann.count == 0, "the layout is the room's")
            let info = try #require(conference.rooms.room("r"))
            #expect(info.tiles.tiles.count == 2 && info.views.map(\.participants) == [3, 0])
            #expect(info.views.map(\.shown.scope) == [.room, .room])
            let third = try join(conference)
            #expect(await eventually { tiles(ann).count == 3 && tiles(bob).count == 3 })
            third.leave()
            #expect(await eventually { tiles(ann) == [second.id] })
            // At the level that takes the top rung away, and until the load is over.
            for (level, count) in [(OverloadState.Level.halfRate, 1), (.noTopRung, 2), (.fastEncoders, 2), (.none, 1)] {
                conference.roomService.follow(level)
                #expect(await eventually { tiles(ann).count == count && tiles(bob).count == count })
            }
        }
    }

    @Test("a busy server gives the upright view to a phone, and refuses other new ones")
    func busy() async throws {
        try await withConference { conference in
            let overload = conference.media.overload
            func rise(at start: Int, to level: OverloadState.Level) {
                for second in 0..<20 where overload.level < level {
                    overload.ticked(isLate: true)
                    _ = overload.evaluate(at: .zero + .seconds(start + second))
                }
            }
            rise(at: 0, to: .noTopRung)
            let ann = try join(conference) { $0.view = "portrait" }
            let bob = try join(conference)
            #expect(ann.shown.view == "portrait")
            #expect(throws: ConferenceError.overloaded) { try bob.setLayout("speaker", scope: .me) }
            try bob.setView("portrait")
            #expect(bob.shown.view == "portrait")
            try bob.setView("main")
            try ann.setView("main")
            rise(at: 100, to: .noNewRooms)
            #expect(throws: ConferenceError.overloaded) { try ann.setView("portrait") }
        }
    }

    @Test("views come and go by the API, with the people in them")
    func defined() async throws {
        try await withConference { conference in
            let told = Told()
            let ann = try join(conference, told: told)
            var change = RoomSettingsChange()
            var guests = ViewSettings()
            (guests.layout, guests.width, guests.height, guests.names) = ("single", 640, 360, false)
            change.views = ["guests": guests]
            let info = try conference.rooms.update("r", change)
            #expect(info.views.map(\.shown.view) == ["main", "guests", "portrait"])
            try ann.setView("guests")
            #expect(await eventually { told.canvas?.width == 640 && told.canvas?.tiles.first?.label == false })
            change.views = ["guests": ViewSettings?.none]
            try conference.rooms.update("r", change)
            #expect(await eventually { told.last == ShownLayout(name: "grid") })
            guests.layout = "none"
            change.views = ["guests": guests]
            #expect(throws: ConferenceError.unknownLayout("none")) { try conference.rooms.update("r", change) }
        }
    }

    @Test("under overload, and beyond the room's limit, joins get main and insisting ones are refused")
    func refused() async throws {
        try await withConference({ $0.limits.viewsPerRoom = 0 }) { conference in
            let ann = try join(conference) { $0.view = "portrait" }
            #expect(ann.shown.view == "main")
            #expect { try ann.setView("portrait") } throws: { ($0 as? ConferenceError)?.kind == "atCapacity" }
            #expect {
                try join(conference) { ($0.view, $0.insistsOnView) = ("portrait", true) }
            } throws: { ($0 as? ConferenceError)?.kind == "atCapacity" }
            #expect(conference.rooms.room("r")?.participants.count == 1)
        }
    }

    @Test("a snapshot of a view makes it for that moment")
    func snapshots() async throws {
        try await withConference { conference in
            _ = try join(conference)
            let wide = try await conference.rooms.snapshot("r")
            let tall = try await conference.rooms.snapshot("r", view: "portrait")
            // The sides of a PNG: 32 bits each from byte 16 on.
            func sides(_ png: [UInt8]) -> [Int] { [18, 22].map { Int(png[$0]) << 8 | Int(png[$0 + 1]) } }
            #expect(sides(wide) == [1280, 720] && sides(tall) == [720, 1280])
            #expect(views(conference) == [.main] && conference.registry["r"]?.engine.isRunning == false)
            await #expect(throws: ConferenceError.self) { try await conference.rooms.snapshot("r", view: "none") }
        }
    }
}
