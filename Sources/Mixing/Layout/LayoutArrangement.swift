import Codecs

extension Layout {
    /// Arranges participants on a canvas.
    ///
    /// A pure function: the same members, canvas and `previous` tiles give the same tiles. All coordinates are even,
    /// all tiles are inside the canvas, and tiles of one layer never overlap. `previous`, the result of the last call,
    /// keeps participants at their places as far as the new arrangement allows. Where there are more participants than
    /// places, those who spoke most recently are shown. An id that occurs twice is placed once.
    public func arrange(_ members: [LayoutMember], canvasWidth: Int, canvasHeight: Int, previous: [Tile]) -> [Tile] {
        var seen: Set<String> = []
        let people = members.filter { seen.insert($0.id).inserted }
        let rule = rules.first {
            $0.condition.matches(
                people: people.count, presenting: people.contains(where: \.isPresenting),
                pinned: people.contains(where: \.isPinned))
        }
        guard let rule, canvasWidth >= 2, canvasHeight >= 2 else { return [] }
        var placement = Placement(
            layout: self, width: canvasWidth & ~1, height: canvasHeight & ~1, waiting: people, previous: previous)
        for region in rule.regions { placement.fill(region) }
        return placement.tiles.enumerated().sorted { ($0.element.z, $0.offset) < ($1.element.z, $1.offset) }.map(
            \.element)
    }
}

/// One run of `arrange`: regions are filled in their order with the participants who still wait for a place.
private struct Placement {
    let layout: Layout
    let width: Int
    let height: Int
    var waiting: [LayoutMember]
    let previous: [String: Tile]
    var tiles: [Tile] = []

    init(layout: Layout, width: Int, height: Int, waiting: [LayoutMember], previous: [Tile]) {
        self.layout = layout
        self.width = width
        self.height = height
        self.waiting = waiting
        self.previous = Dictionary(previous.map { ($0.member, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private var room: Int { min(layout.maxTiles, Layout.largestMaxTiles) - tiles.count }

    mutating func fill(_ region: Layout.Region) {
        guard room > 0, !waiting.isEmpty else { return }
        let frame = frame(of: region)
        guard frame.width >= 2, frame.height >= 2 else { return }
        switch region.kind {
        case .slot(let roles):
            guard let member = occupant(of: frame, roles: roles) else { return }
            waiting.removeAll { $0.id == member.id }
            tiles.append(tile(member, frame, region))
        case .grid(let columns, let maxTiles, let aspect):
            let count = min(waiting.count, maxTiles ?? .max, room)
            seat(gridCells(in: frame, count: count, columns: columns, aspect: aspect), region)
        case .strip(let direction, let align, let maxTiles, let aspect):
            let most = min(waiting.count, maxTiles ?? .max, room)
            seat(
                stripCells(
                    in: frame, most: most, direction: direction, align: align, mayShrink: maxTiles != nil,
                    aspect: aspect), region)
        }
    }

    // MARK: Geometry

    /// The frame of a region in pixels. Both edges are rounded by the same rule, so that regions that touch in the file
    /// touch in pixels and do not overlap.
    private func frame(of region: Layout.Region) -> PixelRectangle {
        func edge(_ fraction: Double, _ extent: Int) -> Int {
            let pixels = (fraction * Double(extent) / 2).rounded() * 2
            return min(max(Int(exactly: pixels) ?? 0, 0), extent)
        }
        let left = edge(region.x, width), right = edge(region.x + region.width, width)
        let top = edge(region.y, height), bottom = edge(region.y + region.height, height)
        return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
    }

    private var gap: Int { even(layout.gap * Double(height)) }

    private func even(_ value: Double) -> Int { max(0, Int((value / 2).rounded())) * 2 }

    /// The largest even size with the aspect ratio in a cell, rounded down so that a tile never exceeds its cell.
    private func tileSize(_ cellWidth: Int, _ cellHeight: Int, _ aspect: Layout.Aspect) -> (width: Int, height: Int) {
        let best = aspect.largest(in: Double(cellWidth), Double(cellHeight))
        // A sixteenth of a pixel is added before truncation: 638 / (16/9) is 358.875, and a 16:9 tile of 638×358 is
        // meant.
        return (Int(best.width + 1.0 / 16) & ~1, Int(best.height + 1.0 / 16) & ~1)
    }

    private func gridCells(in frame: PixelRectangle, count: Int, columns wanted: Int?, aspect: Layout.Aspect)
        -> [PixelRectangle]
    {
        guard count > 0 else { return [] }
        var best: (columns: Int, rows: Int, width: Int, height: Int) = (0, 0, 0, 0)
        for columns in (wanted.map { min($0, count)...min($0, count) } ?? 1...count) {
            let rows = (count + columns - 1) / columns
            let size = tileSize(
                (frame.width - (columns - 1) * gap) / columns, (frame.height - (rows - 1) * gap) / rows, aspect)
            // Among equal areas, fewer empty places look better.
            let area = size.width * size.height, bestArea = best.width * best.height
            if size.width >= 2, size.height >= 2,
                area > bestArea || area == bestArea && columns * rows < best.columns * best.rows
            {
                best = (columns, rows, size.width, size.height)
            }
        }
        guard best.columns > 0 else { return [] }
        let blockHeight = best.rows * best.height + (best.rows - 1) * gap
        let top = frame.y + (frame.height - blockHeight) / 2 & ~1
        return (0..<count).map { index in
            let row = index / best.columns
            let inRow = min(best.columns, count - row * best.columns)
            let rowWidth = inRow * best.width + (inRow - 1) * gap
            let left = frame.x + (frame.width - rowWidth) / 2 & ~1
            return PixelRectangle(
                x: left + index % best.columns * (best.width + gap), y: top + row * (best.height + gap),
                width: best.width,
                height: best.height)
        }
    }

    /// The cells of a strip: tiles as thick as the strip, as many as fit, so that nobody moves or changes size when
    /// participants join and leave. Only where the layout demands a number of tiles, they shrink to fit it.
    private func stripCells(
        in frame: PixelRectangle, most: Int, direction: Layout.Direction, align: Layout.Alignment, mayShrink: Bool,
        aspect: Layout.Aspect
    ) -> [PixelRectangle] {
        guard most > 0 else { return [] }
        let isRow = direction == .row
        let length = isRow ? frame.width : frame.height
        var size = tileSize(frame.width, frame.height, aspect == .fill ? .wide : aspect)
        func along(_ size: (width: Int, height: Int)) -> Int { isRow ? size.width : size.height }
        guard along(size) >= 2 else { return [] }
        var count = min(most, (length + gap) / (along(size) + gap))
        if mayShrink, count < most {
            count = most
            let share = (length - (count - 1) * gap) / count
            size = tileSize(isRow ? share : frame.width, isRow ? frame.height : share, aspect == .fill ? .wide : aspect)
            guard size.width >= 2, size.height >= 2 else { return [] }
        }
        let used = count * along(size) + (count - 1) * gap
        let first =
            switch align {
            case .start: 0
            case .center: (length - used) / 2 & ~1
            case .end: (length - used) & ~1
            }
        let across = (isRow ? frame.height - size.height : frame.width - size.width) / 2 & ~1
        return (0..<count).map { index in
            let offset = first + index * (along(size) + gap)
            return PixelRectangle(
                x: frame.x + (isRow ? offset : across), y: frame.y + (isRow ? across : offset), width: size.width,
                height: size.height)
        }
    }

    // MARK: People

    /// The member with the first role that any member has. A pinned or presenting member who is in the slot stays
    /// there.
    private func occupant(of frame: PixelRectangle, roles: [Layout.Role]) -> LayoutMember? {
        for role in roles {
            let candidates =
                switch role {
                case .speaker: waiting.filter { $0.isSpeaker || $0.speakerRank != nil }
                case .presenter: waiting.filter(\.isPresenting)
                case .pinned: waiting.filter(\.isPinned)
                case .any: waiting
                }
            if role != .speaker, let present = candidates.first(where: { previous[$0.id]?.frame == frame }) {
                return present
            }
            if let best = candidates.min(by: isMoreImportant) { return best }
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

    /// Places members in the cells. A member whose cell still exists keeps it. If these are the majority (a member
    /// joined, left or was swapped), the others take the nearest free cell; if the grid changed its shape, all members
    /// are placed in the reading order of their old places, so that neighbours stay neighbours. New members come last,
    /// in the order of joining.
    private mutating func seat(_ cells: [PixelRectangle], _ region: Layout.Region) {
        guard !cells.isEmpty else { return }
        let chosen =
            waiting.count > cells.count ? Array(waiting.sorted(by: isMoreImportant).prefix(cells.count)) : waiting
        let ids = Set(chosen.map(\.id))
        waiting.removeAll { ids.contains($0.id) }

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
        if unseated.count < chosen.count {
            // The sort put members with an old place before the new ones.
            for member in unseated {
                let free = seats.indices.filter { seats[$0] == nil }
                let target =
                    previous[member.id].map { old in free.min { distance(cells[$0], old) < distance(cells[$1], old) } }
                    ?? free.first
                if let target { seats[target] = member }
            }
        } else {
            for (index, member) in unseated.enumerated() { seats[index] = member }
        }
        for (index, member) in seats.enumerated() {
            if let member { tiles.append(tile(member, cells[index], region)) }
        }
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
        let fit = member.isPresenting && region.fit == .auto ? TileFit.contain : region.fit
        return Tile(
            member: member.id, x: cell.x, y: cell.y, width: cell.width, height: cell.height, fit: fit, z: region.layer,
            showsName: region.names ?? layout.names)
    }
}
