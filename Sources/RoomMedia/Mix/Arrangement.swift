import Mixing

/// The tiles and other parts of one view. They follow the scene, and move only when the members, the speaker or the
/// layout changed. A value; a room whose output nobody takes has no more than this.
struct Arrangement {
    let view: ViewID
    private(set) var arranged = Arranged()
    private var members: [LayoutMember] = []
    private(set) var layout: Layout?
    /// Whether the one tile has neither name nor signs, since those who take the picture draw them.
    private(set) var isBare = false
    private var viewer: String?
    private var names: Bool?
    private var leavesSigns = false

    init(of view: ViewID) { self.view = view }

    /// Takes over a new scene. Returns whether tiles moved.
    ///
    /// - Parameter aspect: the width of a participant's picture by its height.
    mutating func follow(_ scene: Scene, aspect: (String) -> Double) -> Bool {
        guard let wanted = scene.views[view], let layout = wanted.layout else { return false }
        let format = scene.format(of: view)
        let members = scene.layoutMembers(for: view) { Self.coarse(aspect($0)) }
        guard
            members != self.members || layout != self.layout || wanted.viewer != viewer || wanted.names != names
                || wanted.takersDrawSigns != leavesSigns
        else { return false }
        self.members = members
        self.layout = layout
        (viewer, names, leavesSigns) = (wanted.viewer, wanted.names, wanted.takersDrawSigns)
        let old = (arranged.tiles, isBare)
        arranged = layout.arrange(
            members, canvasWidth: format.width, canvasHeight: format.height, previous: old.0, viewer: viewer)
        if let names { for index in arranged.tiles.indices { arranged.tiles[index].showsName = names } }
        isBare = leavesSigns && fills(format)
        if isBare { arranged.tiles[0].showsName = false }
        return (arranged.tiles, isBare) != old
    }

    /// Whether one tile fills the canvas, with nothing else in the picture.
    private func fills(_ format: ViewFormat) -> Bool {
        guard let layout, let tile = arranged.tiles.first, arranged.tiles.count == 1, arranged.ornaments.isEmpty else {
            return false
        }
        return layout.style.radius == 0 && layout.style.border == nil
            && (tile.x, tile.y, tile.width, tile.height) == (0, 0, format.width & ~1, format.height & ~1)
    }

    /// A picture whose tile alone fills the canvas.
    struct Sole: Equatable {
        var picture: String
        /// Whether nothing is drawn over it: no name and no sign.
        var isPlain: Bool
        /// Whether it stays as it is while its sender sends no frames.
        var isPresented: Bool
    }

    /// The picture that fills the canvas alone, if one does that is sent.
    func sole(in scene: Scene) -> Sole? {
        guard fills(scene.format(of: view)), let tile = arranged.tiles.first,
            let person = scene.people.first(where: { $0.id == tile.member }), person.sendsVideo
        else { return nil }
        let hasSigns = !isBare && (person.isMuted || person.hand)
        let hasName = tile.showsName && !person.name.isEmpty
        return Sole(picture: tile.member, isPlain: !hasSigns && !hasName, isPresented: person.isPresenting)
    }

    /// Senders change their size in small steps as their link changes, so the aspect ratio is rounded to eighths: only
    /// larger changes may move tiles.
    private static func coarse(_ ratio: Double) -> Double { (ratio * 8).rounded() / 8 }

    /// The tiles as endpoints announce them, on a canvas of this size.
    func info(width: Int, height: Int) -> TilesInfo {
        TilesInfo(
            width: width, height: height,
            tiles: arranged.tiles.map {
                var tile = TilesInfo.Tile(
                    participant: PictureID.participant(of: $0.member), x: $0.x, y: $0.y, width: $0.width,
                    height: $0.height, label: $0.showsName)
                tile.isScreen = PictureID.isScreen($0.member)
                tile.signs = !isBare
                return tile
            })
    }
}
