//! A dataset's tables as SQL sees them, in this process or on a cluster.
//!
//! Tables are lists of files, as the log has them, so that a question is answered of one state of the dataset, whatever is
//! added meanwhile. Engines pass over files by what they say of their columns: `date` and `service` are the same in all rows
//! of one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::cluster;
use crate::log::{Entry, State};
use crate::store::Store;
use crate::tables::Table;

/// How long a cluster may take, unless somebody says otherwise.
const PATIENCE: Duration = Duration::from_secs(600);

/// What queries may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of memory; what does not fit is put on disk.
    pub memory: usize,
    /// How many threads compute.
    pub threads: usize,
    /// The cluster that answers instead: `df://HOST:PORT`. Its executors have their own limits.
    pub cluster: Option<String>,
    /// How long a cluster may take.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, Into::into);
        Limits { memory: 1 << 30, threads, cluster: None, patience: PATIENCE }
    }
}

/// One state of a dataset, to be asked.
#[derive(Clone)]
pub struct Engine {
    context: SessionContext,
    state: Arc<State>,
    store: Store,
    limits: Limits,
}

/// Views for people: each is a plain query of the tables.
pub const VIEWS: [(&str, &str); 2] = [
    // The files of several days may have the same backtrace, of builds in other folders.
    (
        "places",
        "SELECT site, min(callsite) AS callsite, min(function) AS function, min(file) AS file,
            min(line) AS line, min(class) AS class
        FROM sites GROUP BY site",
    ),
    (
        "callsites",
        "SELECT callsite, min(function) AS function, min(file) AS file FROM sites GROUP BY callsite",
    ),
];

impl Engine {
    /// Of the last state of a dataset.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn open(store: &Store, limits: Limits) -> Result<Engine> {
        Engine::of_files(store, limits, |_| true).await
    }

    /// Of those files of the last state that are wanted: an engine reads a little of each, whatever is asked.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn of_files(
        store: &Store,
        limits: Limits,
        is_wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Engine> {
        let mut state = State::read(store).await?;
        ensure!(state.number > 0, "{}: there is no dataset (`add` makes one)", store.url(""));
        state.retain(is_wanted);
        Engine::of(store, state, limits).await
    }

    /// Of a state of it.
    ///
    /// # Errors
    /// If an engine cannot be made.
    pub async fn of(store: &Store, state: State, limits: Limits) -> Result<Engine> {
        let context = context(&limits).await?;
        if store.folder().is_none() {
            let root = ListingTableUrl::parse(store.url(""))?;
            context.register_object_store(root.object_store().as_ref(), store.objects());
        }
        for table in Table::ALL {
            register(&context, store, table, state.files(table))?;
        }
        for (name, query) in VIEWS {
            context.sql(&format!("CREATE VIEW {name} AS {query}")).await?.collect().await?;
        }
        Ok(Engine { context, state: Arc::new(state), store: store.clone(), limits })
    }

    /// Answers a query.
    ///
    /// # Errors
    /// If it is none, or cannot be answered within the limits; if a file was removed before all had been read.
    pub async fn ask(&self, query: &str) -> Result<Vec<RecordBatch>> {
        let frame = self.context.sql(query).await?;
        let rows = match self.limits.cluster {
            None => frame.collect().await?,
            Some(_) => self.in_time(frame.collect()).await??,
        };
        // An engine takes a file that is not there for an empty one. Names are used once: what is there has been there.
        let files = self.state.all().map(|entry| entry.path.as_str());
        match self.store.missing(files).await? {
            None => Ok(rows),
            Some(name) => bail!(
                "{} has been removed: ask again if the dataset is being compacted; `check` tells what is missing",
                self.store.url(name)
            ),
        }
    }

    async fn in_time<T>(&self, answer: impl Future<Output = T>) -> Result<T> {
        let patience = self.limits.patience;
        let answer = tokio::time::timeout(patience, answer).await;
        answer.with_context(|| {
            let seconds = patience.as_secs();
            format!(
                "the cluster has not answered within {seconds} s: it may have lost an executor, so ask again; or wait \
                 longer (--patience)"
            )
        })
    }

    /// For queries that are more than text.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// What is asked.
    pub fn state(&self) -> &State {
        &self.state
    }
}

async fn context(limits: &Limits) -> Result<SessionContext> {
    let memory = FairSpillPool::new(limits.memory);
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(memory)).build_arc()?;
    let config = limits.cluster.as_ref().map_or_else(SessionConfig::new, |_| cluster::config());
    let config = config
        .with_target_partitions(limits.threads)
        .with_information_schema(true)
        .set_bool("datafusion.execution.parquet.pushdown_filters", true)
        .set_bool("datafusion.execution.parquet.schema_force_view_types", false)
        .set_bool("datafusion.sql_parser.enable_ident_normalization", true);
    let here = SessionContext::new_with_config_rt(config, runtime);
    match &limits.cluster {
        Some(url) => cluster::context(url, here.state()).await,
        None => Ok(here),
    }
}

fn register<'a>(
    context: &SessionContext,
    store: &Store,
    table: Table,
    files: impl Iterator<Item = &'a Entry>,
) -> Result<()> {
    let urls = files.map(|entry| url(&store.url(&entry.path))).collect::<Result<Vec<_>>>()?;
    if urls.is_empty() {
        context.register_table(table.name(), Arc::new(EmptyTable::new(table.schema())))?;
        return Ok(());
    }
    let options =
        ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
    let config = ListingTableConfig::new_with_multi_paths(urls)
        .with_listing_options(options)
        .with_schema(table.schema());
    context.register_table(table.name(), Arc::new(ListingTable::try_new(config)?))?;
    Ok(())
}

/// A path of this machine may have characters in it that mean something in a URL.
fn url(path: &str) -> Result<ListingTableUrl> {
    let parsed = match path.starts_with('/') {
        true => url::Url::from_file_path(Path::new(path)).ok().map(|it| it.to_string()),
        false => Some(path.to_owned()),
    };
    let parsed = parsed.with_context(|| format!("{path}: is no path that can be asked"))?;
    ListingTableUrl::parse(parsed).with_context(|| path.to_owned())
}
