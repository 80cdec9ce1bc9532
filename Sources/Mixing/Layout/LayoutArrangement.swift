import Codecs

extension Layout {
    /// Arranges participants on a canvas.
    ///
    /// A pure function: the same members, canvas and `previous` tiles give the same result. All coordinates are even,
    /// all tiles are inside the canvas, and tiles of one layer never overlap. `previous`, the tiles of the last call,
    /// keep participants at their places as far as the new arrangement allows. Where there are more participants than
    /// places, those who spoke most recently are shown. An id that occurs twice is placed once.
    ///
    /// - Parameter viewer: the participant for whom alone the picture is made; nil for a picture that several take.
    package func arrange(
        _ members: [LayoutMember], canvasWidth: Int, canvasHeight: Int, previous: [Tile], viewer: String? = nil
    ) -> Arranged {
        var seen: Set<String> = []
        let present = members.filter { seen.insert($0.id).inserted }
        let others = present.filter { !hides($0, from: viewer) }
        // Who is alone sees itself: the picture would be empty.
        let all = others.isEmpty ? present : others
        let people = withPictures(all)
        let rule = rules.first {
            $0.condition.matches(
                people: people.count, presenting: people.contains(where: \.isPresenting),
                pinned: people.contains(where: \.isPinned),
                canvas: CanvasShape(width: canvasWidth, height: canvasHeight))
        }
        var arranged = Arranged()
        guard let rule, canvasWidth >= 2, canvasHeight >= 2 else { return arranged }
        var placement = Placement(
            layout: self, width: canvasWidth & ~1, height: canvasHeight & ~1, waiting: people, previous: previous)
        placement.fill(rule.regions)
        arranged.tiles = placement.tiles.enumerated().sorted { ($0.element.z, $0.offset) < ($1.element.z, $1.offset) }
            .map(\.element)
        arranged.ornaments = placement.ornaments
        arranged.people = all.count
        arranged.hidden = all.count - arranged.tiles.count
        let speaker = all.first(where: \.isSpeaker)
        if let speaker, !arranged.tiles.contains(where: { $0.member == speaker.id }) {
            arranged.hiddenSpeaker = speaker.name
        }
        return arranged
    }

    /// Whether a member is left out of the picture that only `viewer` gets: the viewer itself, or its screen, whose
    /// picture in itself would repeat without end.
    private func hides(_ member: LayoutMember, from viewer: String?) -> Bool {
        guard !showsSelf, let viewer else { return false }
        return member.id == viewer || member.id.hasPrefix("\(viewer)/")
    }

    private func withPictures(_ members: [LayoutMember]) -> [LayoutMember] {
        guard withoutVideo == .hide, members.contains(where: \.hasVideo) else { return members }
        return members.filter { $0.hasVideo || $0.isPinned }
    }
}

/// One run of `arrange`: regions are filled in their order with the participants who still wait for a place.
private struct Placement {
    let layout: Layout
    let geometry: CellGeometry
    var waiting: [LayoutMember]
    let previous: [String: Tile]
    var tiles: [Tile] = []
    var ornaments: [Ornament] = []

    init(layout: Layout, width: Int, height: Int, waiting: [LayoutMember], previous: [Tile]) {
        self.layout = layout
        geometry = CellGeometry(width: width, height: height, gapFraction: layout.gap)
        self.waiting = waiting
        self.previous = Dictionary(previous.map { ($0.member, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private var room: Int { min(layout.maxTiles, Layout.largestMaxTiles) - tiles.count }

    /// Fills reserved slots before all other regions, so that nobody else's choice takes a person out of a reserved
    /// slot.
    mutating func fill(_ regions: [Layout.Region]) {
        var reserved: Set<Int> = []
        for (index, region) in regions.enumerated() {
            guard case .slot(let reservations, _) = region.kind, room > 0 else { continue }
            guard let guest = guest(of: reservations), let frame = frame(of: region) else { continue }
            put(guest, frame, region)
            reserved.insert(index)
        }
        for (index, region) in regions.enumerated() where !reserved.contains(index) { fill(region) }
    }

    private func frame(of region: Layout.Region) -> PixelRectangle? {
        let frame = geometry.frame(of: region)
        return frame.width >= 2 && frame.height >= 2 ? frame : nil
    }

    private mutating func put(_ member: LayoutMember, _ frame: PixelRectangle, _ region: Layout.Region) {
        waiting.removeAll { $0.id == member.id }
        tiles.append(tile(member, frame, region))
    }

    private mutating func fill(_ region: Layout.Region) {
        guard let frame = frame(of: region) else { return }
        switch region.kind {
        case .text(let text): return ornaments.append(Ornament(content: .text(text), frame: frame, z: region.layer))
        case .image(let image): return ornaments.append(Ornament(content: .image(image), frame: frame, z: region.layer))
        case .slot, .grid, .strip: break
        }
        guard room > 0, !waiting.isEmpty else { return }
        switch region.kind {
        case .slot(_, let roles):
            if let member = occupant(of: frame, roles: roles) { put(member, frame, region) }
        case .grid(let columns, let maxTiles, let aspect, let more):
            let count = min(waiting.count, maxTiles ?? .max, room)
            seat(geometry.grid(in: frame, count: count, columns: columns, aspect: aspect), region, more: more)
        case .strip(let direction, let align, let maxTiles, let aspect, let more):
            let most = min(waiting.count, maxTiles ?? .max, room)
            let cells = geometry.strip(
                in: frame, most: most, direction: direction, align: align, mayShrink: maxTiles != nil, aspect: aspect)
            seat(cells, region, more: more)
        case .text, .image: break
        }
    }

    // MARK: Who

    private func guest(of reservations: [Layout.Reservation]) -> LayoutMember? {
        for reservation in reservations {
            if let guest = waiting.filter({ $0.fits(reservation) }).min(by: isMoreImportant) { return guest }
        }
        return nil
    }

    /// The member for a slot: the first of those with the first role that any member has. Who shared or was pinned
    /// before stays where the layout's order does not decide.
    private func occupant(of frame: PixelRectangle, roles: [Layout.Role]) -> LayoutMember? {
        for role in roles {
            let found: LayoutMember? =
                switch role {
                case .speaker: waiting.filter { $0.isSpeaker || $0.speakerRank != nil }.min(by: isMoreImportant)
                case .presenter:
                    waiting.filter(\.isPresenting).max {
                        ($0.presentOrder, $1.joinOrder) < ($1.presentOrder, $0.joinOrder)
                    }
                case .pinned: waiting.filter(\.isPinned).min { ($0.pinOrder ?? 0) < ($1.pinOrder ?? 0) }
                case .any:
                    waiting.first { previous[$0.id]?.frame == frame } ?? waiting.min(by: isMoreImportant)
                }
            if let found { return found }
        }
        return nil
    }

    /// The order in which members are shown where not all fit: pinned, presenting and speaking ones first, then by the
    /// time they last spoke, then those with a picture, then by the order of joining. Only speaking changes this order
    /// during a call, so the selection is calm.
    private func isMoreImportant(_ a: LayoutMember, _ b: LayoutMember) -> Bool {
        func key(_ member: LayoutMember) -> (Int, Int, Int, Int) {
            let first = member.isPinned ? 0 : member.isPresenting ? 1 : member.isSpeaker ? 2 : 3
            return (first, member.speakerRank ?? .max, member.hasVideo ? 0 : 1, member.joinOrder)
        }
        return key(a) == key(b) ? a.id < b.id : key(a) < key(b)
    }

    // MARK: Where

    /// Seats people in the cells. Where not all fit and the region has a mark for the rest, the last cell is the
    /// mark's.
    private mutating func seat(_ cells: [PixelRectangle], _ region: Layout.Region, more: Bool) {
        guard let last = cells.last else { return }
        guard more, waiting.count > cells.count else { return seat(cells, region) }
        ornaments.append(Ornament(content: .more, frame: last, z: region.layer))
        seat(cells.dropLast(), region)
    }

    private mutating func seat(_ cells: [PixelRectangle], _ region: Layout.Region) {
        guard !cells.isEmpty else { return }
        let chosen =
            waiting.count > cells.count ? Array(waiting.sorted(by: isMoreImportant).prefix(cells.count)) : waiting
        let ids = Set(chosen.map(\.id))
        waiting.removeAll { ids.contains($0.id) }
        let seats =
            layout.order == .place && layout.withoutVideo != .last
            ? kept(chosen, cells) : chosen.sorted(by: isSeatedBefore).map(Optional.some)
        for (member, cell) in zip(seats, cells) {
            if let member { tiles.append(tile(member, cell, region)) }
        }
    }

    /// The order of seats that the layout asks for.
    private func isSeatedBefore(_ a: LayoutMember, _ b: LayoutMember) -> Bool {
        if layout.withoutVideo == .last, a.hasVideo != b.hasVideo { return a.hasVideo }
        switch layout.order {
        case .place: return isBefore(a, b)
        case .joining: break
        case .name:
            let (first, second) = (a.name.lowercased(), b.name.lowercased())
            if first != second { return first < second }
        case .loudness:
            let (first, second) = (a.loudnessRank ?? .max, b.loudnessRank ?? .max)
            if first != second { return first < second }
        }
        return a.joinOrder != b.joinOrder ? a.joinOrder < b.joinOrder : a.id < b.id
    }

    /// Each cell's member. A member whose cell still exists keeps it. If these are the majority (a member joined, left
    /// or was swapped), the others take the nearest free cell; if the grid changed its shape, all members are placed in
    /// the reading order of their old places, so that neighbours stay neighbours. New members come last, in the order
    /// of joining.
    private func kept(_ chosen: [LayoutMember], _ cells: [PixelRectangle]) -> [LayoutMember?] {
        var seats = [LayoutMember?](repeating: nil, count: cells.count)
        let cellIndex = Dictionary(zip(cells, cells.indices), uniquingKeysWith: { first, _ in first })
        var unseated: [LayoutMember] = []
        for member in chosen {
            if let old = previous[member.id], let index = cellIndex[old.frame], seats[index] == nil {
                seats[index] = member
            } else {
                unseated.append(member)
            }
        }
        if (cells.count - unseated.count) * 2 < min(cells.count, previous.count) {
            unseated = chosen
            seats = .init(repeating: nil, count: cells.count)
        }
        unseated.sort { isBefore($0, $1) }
        guard unseated.count < chosen.count else {
            for (index, member) in unseated.enumerated() { seats[index] = member }
            return seats
        }
        // The sort put members with an old place before the new ones.
        for member in unseated {
            let free = seats.indices.filter { seats[$0] == nil }
            let target =
                previous[member.id].map { old in free.min { distance(cells[$0], old) < distance(cells[$1], old) } }
                ?? free.first
            if let target { seats[target] = member }
        }
        return seats
    }

    /// The reading order of the old places; members without one follow in the order of joining.
    private func isBefore(_ a: LayoutMember, _ b: LayoutMember) -> Bool {
        switch (previous[a.id], previous[b.id]) {
        case (let old?, let other?):
            old.y != other.y ? old.y < other.y : old.x != other.x ? old.x < other.x : a.joinOrder < b.joinOrder
        case (.some, nil): true
        case (nil, .some): false
        case (nil, nil): a.joinOrder != b.joinOrder ? a.joinOrder < b.joinOrder : a.id < b.id
        }
    }

    private func distance(_ cell: PixelRectangle, _ tile: Tile) -> Int {
        let dx = cell.x + cell.width / 2 - tile.x - tile.width / 2
        let dy = cell.y + cell.height / 2 - tile.y - tile.height / 2
        return dx * dx + dy * dy
    }

    private func tile(_ member: LayoutMember, _ cell: PixelRectangle, _ region: Layout.Region) -> Tile {
        // A crop of a shared screen may hide its content.
        let fit = member.isPresenting ? TileFit.contain : region.fit
        return Tile(
            member: member.id, x: cell.x, y: cell.y, width: cell.width, height: cell.height, fit: fit, z: region.layer,
            showsName: region.names ?? layout.names)
    }
}
