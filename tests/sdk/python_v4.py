"""Does the official Python client, version 4, do its ordinary work against a node?"""

import os
import sys
import time
import traceback
from urllib.parse import urlparse

from algoliasearch.analytics.client import AnalyticsClientSync
from algoliasearch.analytics.config import AnalyticsConfig
from algoliasearch.http.exceptions import RequestException
from algoliasearch.http.hosts import CallType, Host, HostsCollection
from algoliasearch.search.client import SearchClientSync
from algoliasearch.search.config import SearchConfig

PEOPLE = [
    {"objectID": "1", "name": "Jimmie Barninger", "company": "California Paint", "age": 31, "city": "Oslo"},
    {"objectID": "2", "name": "Warren Speach", "company": "Norwalk Crmc", "age": 45, "city": "Lyon"},
    {"objectID": "3", "name": "Harold Kim", "company": "Norwalk Crmc", "age": 45, "city": "Oslo"},
    {"objectID": "4", "name": "Ama Paintsil", "company": "Harbour Press", "age": 28, "city": "Accra"},
]
INDEX = "py people/north"


def at_node(config):
    """The same configuration, for the node."""
    url = urlparse(os.environ["QUORATE_URL"])
    config.hosts = HostsCollection(
        [Host(url.hostname, scheme="http", port=url.port, accept=CallType.READ | CallType.WRITE)]
    )
    return config


def connect(key):
    return SearchClientSync.create_with_config(at_node(SearchConfig(os.environ["QUORATE_APP_ID"], key)))


client = connect(os.environ["QUORATE_API_KEY"])
STEPS = []


def step(run):
    """Adds a step; steps run in order because later ones use what earlier ones wrote."""
    STEPS.append(run)
    return run


def ids(answer):
    return sorted(hit.object_id for hit in answer.hits)


def search(index, **params):
    return client.search_single_index(index, params)


def wait(index, answer):
    client.wait_for_task(index, answer.task_id)


def refused(status, call):
    try:
        call()
    except RequestException as error:
        assert error.status_code == status, f"status {error.status_code}, expected {status}"
    else:
        raise AssertionError(f"accepted, expected status {status}")


@step
def settings():
    wait(INDEX, client.set_settings(INDEX, {
        "searchableAttributes": ["name", "company"],
        "attributesForFaceting": ["searchable(company)", "city", "age"],
        "customRanking": ["desc(age)"],
    }))
    assert client.get_settings(INDEX).searchable_attributes == ["name", "company"]


@step
def index_exists():
    assert client.index_exists(INDEX)
    assert not client.index_exists("py_missing")


@step
def save_objects():
    answers = client.save_objects(INDEX, PEOPLE, wait_for_tasks=True)
    assert answers[0].object_ids == ["1", "2", "3", "4"]
    added = client.save_object(INDEX, {"name": "No Id"})
    wait(INDEX, added)
    client.delete_objects(INDEX, [added.object_id], wait_for_tasks=True)
    wait(INDEX, client.add_or_update_object(INDEX, "a b/c%", {"name": "Odd Id"}))
    assert client.get_object(INDEX, "a b/c%")["name"] == "Odd Id"
    wait(INDEX, client.delete_object(INDEX, "a b/c%"))
    refused(404, lambda: client.get_object(INDEX, "a b/c%"))


@step
def get_objects():
    results = client.get_objects({"requests": [
        {"indexName": INDEX, "objectID": "2", "attributesToRetrieve": ["name"]},
        {"indexName": INDEX, "objectID": "none"},
    ]}).results
    assert results[0]["name"] == "Warren Speach" and "company" not in results[0]
    assert results[1] is None


@step
def partial_update_objects():
    wait(INDEX, client.partial_update_object(INDEX, "1", {
        "age": {"_operation": "Increment", "value": 2},
        "tags": {"_operation": "Add", "value": "vip"},
    }))
    client.partial_update_objects(
        INDEX, [{"objectID": "2", "city": "Lille"}, {"objectID": "ghost", "city": "Nowhere"}],
        create_if_not_exists=False, wait_for_tasks=True,
    )
    first = client.get_object(INDEX, "1")
    assert first["age"] == 33 and first["tags"] == ["vip"]
    second = client.get_object(INDEX, "2")
    assert second["city"] == "Lille" and second["name"] == "Warren Speach"
    refused(404, lambda: client.get_object(INDEX, "ghost"))


@step
def search_single_index():
    answer = search(INDEX, query="paint")
    assert ids(answer) == ["1", "4"] and answer.nb_hits == 2
    assert ids(search(INDEX, query="speech")) == ["2"], "one typo"
    assert ids(search(INDEX, query="norw")) == ["2", "3"], "prefix"
    assert search(INDEX, query="zzzzzz").nb_hits == 0


@step
def filters_and_facets():
    answer = search(INDEX, filters='age >= 40 AND company:"Norwalk Crmc"', facets=["company", "age"])
    assert ids(answer) == ["2", "3"]
    assert answer.facets["company"]["Norwalk Crmc"] == 2
    assert ids(search(INDEX, facetFilters=[["city:Oslo", "city:Accra"]])) == ["1", "3", "4"]


@step
def several_queries():
    results = client.search({"requests": [
        {"indexName": INDEX, "query": "paint", "hitsPerPage": 1},
        {"indexName": INDEX, "query": "kim"},
        {"indexName": INDEX, "type": "facet", "facet": "company", "facetQuery": "norw"},
    ]}).results
    assert len(results[0].actual_instance.hits) == 1
    assert ids(results[1].actual_instance) == ["3"]
    assert results[2].actual_instance.facet_hits[0].value == "Norwalk Crmc"


@step
def search_for_facet_values():
    answer = client.search_for_facet_values(INDEX, "company", {"facetQuery": "norw"})
    assert [(hit.value, hit.count) for hit in answer.facet_hits] == [("Norwalk Crmc", 2)]
    refused(400, lambda: client.search_for_facet_values(INDEX, "city", {"facetQuery": "o"}))


@step
def browse_objects():
    client.save_objects("py_many", [{"objectID": f"n{n}", "n": n} for n in range(2500)], wait_for_tasks=True)
    seen = []
    client.browse_objects("py_many", lambda answer: seen.extend(hit.object_id for hit in answer.hits))
    assert len(seen) == 2500 and len(set(seen)) == 2500, len(seen)
    page = client.browse(INDEX, {"filters": "city:Oslo"})
    assert ids(page) == ["1", "3"] and page.cursor is None


@step
def batches():
    wait("py_batch", client.batch("py_batch", {"requests": [
        {"action": "addObject", "body": {"objectID": "x", "n": 1}},
        {"action": "updateObject", "body": {"objectID": "y", "n": 2}},
        {"action": "partialUpdateObject", "body": {"objectID": "x", "m": 3}},
        {"action": "deleteObject", "body": {"objectID": "y"}},
    ]}))
    assert ids(search("py_batch")) == ["x"]
    tasks = client.multiple_batch({"requests": [
        {"indexName": "py_batch", "action": "clear", "body": {}},
        {"indexName": "py_batch2", "action": "addObject", "body": {"objectID": "q"}},
    ]}).task_id
    for name, task in tasks.items():
        client.wait_for_task(name, task)
    assert search("py_batch").nb_hits == 0 and search("py_batch2").nb_hits == 1


@step
def delete_by():
    wait("py_doomed", client.set_settings("py_doomed", {"attributesForFaceting": ["city"]}))
    client.save_objects("py_doomed", PEOPLE, wait_for_tasks=True)
    wait("py_doomed", client.delete_by("py_doomed", {"filters": "city:Oslo"}))
    assert ids(search("py_doomed")) == ["2", "4"]


@step
def copy_and_move():
    wait(INDEX, client.operation_index(INDEX, {"operation": "copy", "destination": "py_copy"}))
    assert search("py_copy").nb_hits == 4
    wait(INDEX, client.operation_index(
        INDEX, {"operation": "copy", "destination": "py_settings_only", "scope": ["settings"]}))
    assert search("py_settings_only").nb_hits == 0
    assert client.get_settings("py_settings_only").custom_ranking == ["desc(age)"]
    wait("py_copy", client.operation_index("py_copy", {"operation": "move", "destination": "py_moved"}))
    assert not client.index_exists("py_copy")
    assert search("py_moved").nb_hits == 4


@step
def replace_all_objects():
    client.replace_all_objects(INDEX, [{"objectID": "new", "name": "Only One", "age": 1}])
    assert ids(search(INDEX)) == ["new"]
    assert client.get_settings(INDEX).searchable_attributes == ["name", "company"], "settings stay"
    client.replace_all_objects("py_fresh", PEOPLE)
    assert search("py_fresh").nb_hits == 4, "the index did not exist before"


@step
def synonyms():
    name = "py_known"
    hits = [
        {"objectID": "s1", "type": "synonym", "synonyms": ["paint", "colour"]},
        {"objectID": "s2", "type": "onewaysynonym", "input": "press", "synonyms": ["print"]},
    ]
    wait(name, client.save_synonyms(name, hits))
    one = {"objectID": "s3", "type": "placeholder", "placeholder": "<street>", "replacements": ["1", "2"]}
    wait(name, client.save_synonym(name, "s3", one))
    assert client.get_synonym(name, "s2").input == "press"
    found = client.search_synonyms(name, search_synonyms_params={"query": "paint"})
    assert (found.nb_hits, found.hits[0].object_id) == (1, "s1")
    seen = []
    client.browse_synonyms(name, aggregator=lambda answer: seen.extend(hit.object_id for hit in answer.hits))
    assert seen == ["s3", "s2", "s1"], seen
    wait(name, client.delete_synonym(name, "s3"))
    refused(404, lambda: client.get_synonym(name, "s3"))
    wait(name, client.save_synonyms(name, hits[:1], replace_existing_synonyms=True))
    assert client.search_synonyms(name).nb_hits == 1
    wait(name, client.clear_synonyms(name))
    assert client.search_synonyms(name).nb_hits == 0


@step
def rules():
    name = "py_known"
    hits = [
        {
            "objectID": object_id,
            "conditions": [{"pattern": f"offer {object_id}", "anchoring": "contains"}],
            "consequence": {"params": {"filters": "city:Oslo"}},
        }
        for object_id in ("r1", "r2", "r3")
    ]
    wait(name, client.save_rules(name, hits))
    wait(name, client.save_rule(name, "r4", {**hits[0], "objectID": "r4"}))
    assert client.get_rule(name, "r2").object_id == "r2"
    found = client.search_rules(name, search_rules_params={"query": "r2"})
    assert (found.nb_hits, found.hits[0].object_id, found.nb_pages) == (1, "r2", 1)
    seen = []
    client.browse_rules(name, aggregator=lambda answer: seen.extend(hit.object_id for hit in answer.hits))
    assert seen == ["r4", "r3", "r2", "r1"], seen
    wait(name, client.save_rules(name, hits[2:], clear_existing_rules=True))
    assert client.search_rules(name).nb_hits == 1
    wait(name, client.delete_rule(name, "r3"))
    wait(name, client.clear_rules(name))
    assert client.search_rules(name).nb_hits == 0


@step
def replicas():
    shop, young, fresh = "py_shop", "py_shop_young", "py_shop_fresh"
    links = [young, f"virtual({fresh})"]
    wait(shop, client.set_settings(shop, {"customRanking": ["desc(age)"], "replicas": links}))
    client.save_objects(shop, PEOPLE, wait_for_tasks=True)
    wait(young, client.set_settings(young, {"ranking": ["asc(age)", "typo", "words"]}))
    wait(fresh, client.set_settings(fresh, {"customRanking": ["asc(age)"]}))
    assert client.get_settings(shop).replicas == links
    for name, expected in [(shop, [45, 45, 31, 28]), (young, [28, 31, 45, 45]), (fresh, [28, 31, 45, 45])]:
        ages = [hit.to_dict()["age"] for hit in search(name).hits]
        assert ages == expected, (name, ages)
    wait(shop, client.set_settings(shop, {"searchableAttributes": ["name", "city"]}, forward_to_replicas=True))
    pair = {"objectID": "pair", "type": "synonym", "synonyms": ["capital", "oslo"]}
    wait(shop, client.save_synonyms(shop, [pair], forward_to_replicas=True))
    hide = {
        "objectID": "hide",
        "conditions": [{"pattern": "capital", "anchoring": "is"}],
        "consequence": {"hide": [{"objectID": "3"}]},
    }
    wait(shop, client.save_rules(shop, [hide], forward_to_replicas=True))
    for name in (shop, young, fresh):
        assert ids(search(name, query="capital")) == ["1"], name
    client.replace_all_objects(shop, PEOPLE[:2])
    for name in (shop, young, fresh):
        assert ids(search(name)) == ["1", "2"], name
    refused(403, lambda: client.save_object(young, {"objectID": "x"}))
    refused(403, lambda: client.delete_index(young))
    wait(shop, client.set_settings(shop, {"replicas": []}))
    assert (search(young).nb_hits, search(fresh).nb_hits) == (2, 0)
    wait(young, client.delete_index(young))
    assert not client.index_exists(young)


@step
def list_clear_delete():
    items = {item.name: item for item in client.list_indices().items}
    assert items["py_fresh"].entries == 4
    wait(INDEX, client.clear_objects(INDEX))
    assert search(INDEX).nb_hits == 0
    for name in (name for name in items if name.startswith("py")):
        wait(name, client.delete_index(name))
    assert not client.index_exists(INDEX)


@step
def api_keys_and_secured_keys():
    name = "py_keys"
    client.save_objects(name, PEOPLE, wait_for_tasks=True)
    wait(name, client.set_settings(name, {"attributesForFaceting": ["city"]}))
    key = client.add_api_key({"acl": ["search"], "indexes": ["py_*"], "description": "of a client"}).key
    client.wait_for_api_key(key, "add")
    secured = client.generate_secured_api_key(key, {"filters": "city:Oslo", "validUntil": 2524604400})
    assert ids(connect(secured).search_single_index(name)) == ["1", "3"]
    changed = {"acl": ["search", "browse"], "maxHitsPerQuery": 1}
    client.update_api_key(key, changed)
    client.wait_for_api_key(key, "update", changed)
    assert len(connect(key).search_single_index(name).hits) == 1
    client.delete_api_key(key)
    client.wait_for_api_key(key, "delete")
    refused(403, lambda: connect(secured).search_single_index(name))
    client.restore_api_key(key)
    client.wait_for_api_key(key, "add")
    client.delete_api_key(key)
    wait(name, client.delete_index(name))


@step
def analytics():
    config = AnalyticsConfig(os.environ["QUORATE_APP_ID"], os.environ["QUORATE_API_KEY"], "us")
    figures = AnalyticsClientSync.create_with_config(at_node(config))
    index = "py analytics"
    wait(index, client.save_object(index, {"objectID": "1", "name": "lamp"}))
    search(index, query="lamp", userToken="ann", clickAnalytics=True)
    search(index, query="nothing", userToken="bob")
    deadline = time.monotonic() + 60
    while figures.get_searches_count(index).count < 2:
        assert time.monotonic() < deadline, "not counted within a minute"
        time.sleep(0.2)
    assert figures.get_users_count(index).count == 2
    assert figures.get_no_results_rate(index).rate == 0.5
    assert figures.get_no_click_rate(index).no_click_count == 1
    assert figures.get_click_through_rate(index).rate == 0
    assert figures.get_conversion_rate(index).tracked_search_count == 1
    assert figures.get_add_to_cart_rate(index).rate == 0
    assert figures.get_purchase_rate(index).rate == 0
    assert figures.get_revenue(index).currencies == {}
    assert figures.get_average_click_position(index).average is None
    assert len(figures.get_click_positions(index).positions) == 12
    assert [it.search for it in figures.get_searches_no_results(index).searches] == ["nothing"]
    assert [it.search for it in figures.get_searches_no_clicks(index).searches] == ["lamp"]
    for more in ({}, {"click_analytics": True}, {"revenue_analytics": True}):
        assert len(figures.get_top_searches(index, **more).actual_instance.searches) == 2
        assert len(figures.get_top_hits(index, **more).actual_instance.hits) == 1
    assert figures.get_top_filter_attributes(index).attributes == []
    assert figures.get_top_filter_for_attribute("brand", index).values == []
    assert figures.get_top_filters_no_results(index).values is None
    assert figures.get_top_countries(index).countries == []
    assert figures.get_status(index).updated_at


@step
def errors():
    refused(403, lambda: connect("not-a-key").search_single_index("any"))
    refused(404, lambda: search("py_missing"))
    refused(400, lambda: client.custom_put("1/indexes/py_bad/settings", body={"searchableAttributes": 7}))


def main():
    failed = 0
    for run in STEPS:
        name = run.__name__.replace("_", " ")
        try:
            run()
            print(f"ok     python client 4: {name}")
        except Exception:  # every failure of a step counts and is shown
            failed += 1
            print(f"FAILED python client 4: {name}\n{traceback.format_exc(limit=-3)}")
    print(f"python client 4: {len(STEPS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
